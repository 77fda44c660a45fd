import { useEffect, useState } from "react";
import { choicesOf, connect, totalOf, vote } from "./app.js";

export function Poll() {
  const [poll, setPoll] = useState(null);
  const [problem, setProblem] = useState("");

  useEffect(() => {
    connect({ poll: setPoll, problem: setProblem });
  }, []);

  return (
    <>
      <h1>{poll ? poll.question : "Loading…"}</h1>
      {poll && (
        <>
          <p>{totalOf(poll)} votes</p>
          <ul>
            {choicesOf(poll).map(({ name, count, part }) => (
              <li key={name}>
                <button style={{ "--part": part }} onClick={() => vote(name)}>
                  <span>{name}</span>
                  <strong>{count}</strong>
                </button>
              </li>
            ))}
          </ul>
        </>
      )}
      <p role="alert">{problem}</p>
    </>
  );
}
