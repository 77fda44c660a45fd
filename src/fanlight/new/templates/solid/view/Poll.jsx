import { Index, Show, createSignal, onMount } from "solid-js";
import { choicesOf, connect, totalOf, vote } from "./app.js";

export function Poll() {
  const [poll, setPoll] = createSignal(null);
  const [problem, setProblem] = createSignal("");

  onMount(() => connect({ poll: setPoll, problem: setProblem }));

  return (
    <>
      <Show when={poll()} fallback={<h1>Loading…</h1>}>
        <h1>{poll().question}</h1>
        <p>{totalOf(poll())} votes</p>
        <ul>
          <Index each={choicesOf(poll())}>
            {(choice) => (
              <li>
                <button style={{ "--part": choice().part }} onClick={() => vote(choice().name)}>
                  <span>{choice().name}</span>
                  <strong>{choice().count}</strong>
                </button>
              </li>
            )}
          </Index>
        </ul>
      </Show>
      <p role="alert">{problem()}</p>
    </>
  );
}
