import { render } from "solid-js/web";
import { Poll } from "./Poll.jsx";
import "./style.css";

render(() => <Poll />, document.getElementById("app"));
