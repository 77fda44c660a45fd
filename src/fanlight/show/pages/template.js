// Starts a rendered page.
import { app, complain, page, root, show } from "./swap.js";

app.ontoolinput = (/** @type {any} */ params) => (page.arguments = params.arguments);
app.ontoolresult = show;
app.ontoolcancelled = () => show({ content: [{ text: "The call was cancelled." }] });
app.connect().catch((error) => complain(root, { "": error.message }));
