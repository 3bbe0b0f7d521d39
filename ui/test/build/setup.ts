/** Setup forms. */
import type { SetupForm, SetupKeyView, SetupLineView } from "../../src/ipc/generated";
import { shown } from "./text";

export const setupKey = (more: Partial<SetupKeyView> = {}): SetupKeyView => ({
  key: "limit",
  kind: "int",
  group: shown("Main"),
  description: null,
  placeholder: null,
  importance: null,
  elements: [],
  secret: false,
  default: shown("1"),
  value: shown("1"),
  chosen: null,
  bound: null,
  ...more,
});

export const setupForm = (more: Partial<SetupForm> = {}): SetupForm => ({
  key: "acme/bot",
  workspace: "acme",
  agent: "bot",
  revision: 0,
  readable: true,
  declared: { type: "keys", keys: [setupKey()] },
  leftovers: [],
  changed: null,
  ...more,
});

export const setupLine = (more: Partial<SetupLineView> = {}): SetupLineView => ({
  key: "acme/bot",
  workspace: "acme",
  agent: "bot",
  keys: 1,
  chosen: 0,
  bound: 0,
  ...more,
});
