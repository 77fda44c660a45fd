/** The types of view-files.js, of the View SDK. Made from its comments by scripts/view_types.py. */
export type Json = Record<string, any>;
export type Host = {
    callServerTool: (params: any, options?: any) => Promise<any>;
    downloadFile: (params: any, options?: any) => Promise<any>;
    getHostCapabilities: () => Json | undefined;
};
export type FileProgress = {
    /**
     * How much is done: bytes while a file travels, whatever a tool reports while it runs.
     */
    progress: number;
    total?: number;
    message?: string;
    /**
     * Whether files travel, or the tool runs that takes or returns them.
     */
    phase: "upload" | "run" | "download";
};
export type SendOptions = {
    /**
     * The connected `App`.
     */
    app: Host;
    /**
     * What the file is for: a tool of `apps.upload`, or a field of a form.
     */
    target: string;
    /**
     * The name of the file. Default: its own.
     */
    name?: string;
    /**
     * Cancels the upload, here and on the server.
     */
    signal?: AbortSignal;
    onprogress?: (progress: FileProgress) => void;
    /**
     * How often a part is tried again after a lost connection. Default: 5.
     */
    attempts?: number;
    /**
     * Milliseconds before the first of these attempts; each waits twice as long. Default: 500.
     */
    delay?: number;
};
export type UploadOptions = Omit<SendOptions, "target" | "name"> & {
    tool: string;
    arguments?: Json;
    timeout?: number;
};
export type DownloadOptions = {
    /**
     * The connected `App`.
     */
    app: Host;
    /**
     * A tool that returns a `Download`.
     */
    tool?: string;
    arguments?: Json;
    /**
     * What such a tool has returned: `structuredContent.item` of its result, instead of `tool`.
     */
    item?: Json;
    signal?: AbortSignal;
    onprogress?: (progress: FileProgress) => void;
    /**
     * The timeout of the tool in milliseconds. Default: 10 minutes.
     */
    timeout?: number;
};
/**
 * Send a file to the server, and return the id of the upload in `upload`. After a lost connection the server is asked
 * how much has arrived, and the rest is sent.
 * @param {File | Blob} file
 * @param {SendOptions} options
 * @returns {Promise<{ upload: string, tool: string, parameter: string }>}
 */
declare const sendFile: (file: File | Blob, { app, target, name, signal, onprogress, attempts, delay }: SendOptions) => Promise<{
    upload: string;
    tool: string;
    parameter: string;
}>;
/**
 * Upload a file, or several, to a tool of `apps.upload`, run its function, and return the result.
 * @param {File | Blob | Iterable<File | Blob>} files
 * @param {UploadOptions} options
 * @returns {Promise<any>} The result of the tool; one that failed has `isError`.
 */
declare const upload: (files: File | Blob | Iterable<File | Blob>, { tool, arguments: args, timeout, onprogress, ...options }: UploadOptions) => Promise<any>;
/**
 * Get a file from the server in parts, and let the host save it.
 * @param {DownloadOptions} options
 */
declare const download: ({ app, tool, arguments: args, item, signal, onprogress, timeout }: DownloadOptions) => Promise<void>;
export { download, sendFile, upload };
