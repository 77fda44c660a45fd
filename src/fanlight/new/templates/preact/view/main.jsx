import { render } from "preact";
import { Poll } from "./Poll.jsx";
import "./style.css";

render(<Poll />, document.getElementById("app"));
