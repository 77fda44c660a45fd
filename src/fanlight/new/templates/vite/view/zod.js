// Hosts forbid eval, which zod tries as soon as the package of MCP Apps is loaded: import this before it.
import { config } from "zod";

config({ jitless: true });
