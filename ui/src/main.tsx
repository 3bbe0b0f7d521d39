import "./language";
import { setNonce } from "get-nonce";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app/App";
import { shell } from "./ipc/client";
import "./styles/app.css";

// The shell gives the page's own style elements a nonce; what adds one later needs the same.
const nonce = document.querySelector("style")?.nonce;
if (nonce !== undefined && nonce !== "") setNonce(nonce);

const root = document.querySelector("#root");
if (root === null) throw new Error("index.html has no #root");
createRoot(root).render(
  <StrictMode>
    <App transport={shell} />
  </StrictMode>,
);
