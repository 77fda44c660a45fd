import { createApp } from "vue";
import Poll from "./Poll.vue";
import "./style.css";

createApp(Poll).mount("#app");
