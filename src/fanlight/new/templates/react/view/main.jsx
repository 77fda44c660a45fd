import { createRoot } from "react-dom/client";
import { Poll } from "./Poll.jsx";
import "./style.css";

createRoot(document.getElementById("app")).render(<Poll />);
