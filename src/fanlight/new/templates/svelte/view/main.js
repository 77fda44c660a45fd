import { mount } from "svelte";
import Poll from "./Poll.svelte";
import "./style.css";

mount(Poll, { target: document.getElementById("app") });
