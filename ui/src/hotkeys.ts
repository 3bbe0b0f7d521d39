/**
 * Every key of the desk, once: help, palette, button hints and the listener are drawn from here.
 * No command that lets a call run may be bound to Enter, Space or a digit; a test keeps it so.
 */
/** In the order in which help lists them. */
export const commandGroups = ["Move", "Decide", "Look", "Time line", "Screens", "Desk"] as const;

type CommandGroup = (typeof commandGroups)[number];

interface HotkeyDefinition {
  /** `Ctrl+Shift+A`, `J`, `ArrowDown`, `?`; a blank divides two strokes. The first one is the hint. */
  readonly keys: readonly string[];
  readonly label: string;
  readonly group: CommandGroup;
  /** Also while typing, and while a dialog is open. */
  readonly everywhere?: boolean;
  /** May repeat while the key is held down. */
  readonly repeats?: boolean;
  /** Lets a call run. */
  readonly approves?: boolean;
}

export const hotkeys = {
  next: { keys: ["J", "ArrowDown"], label: "Next", group: "Move", repeats: true },
  previous: { keys: ["K", "ArrowUp"], label: "Previous", group: "Move", repeats: true },
  mostUrgent: { keys: ["N"], label: "Most urgent request", group: "Move" },
  select: { keys: ["X"], label: "Select / unselect", group: "Move" },
  selectNext: {
    keys: ["Shift+J", "Shift+ArrowDown"],
    label: "Extend the selection down (same tool and agent)",
    group: "Move",
  },
  selectPrevious: { keys: ["Shift+K", "Shift+ArrowUp"], label: "Extend the selection up", group: "Move" },
  choose: { keys: ["O"], label: "Open selected item", group: "Move" },
  filter: { keys: ["/"], label: "Filter the list", group: "Move" },
  approve: { keys: ["A"], label: "Approve (safe, low, medium)", group: "Decide", approves: true },
  approvePath: {
    keys: ["Ctrl+Shift+A"],
    label: "Next approval step (high and critical)",
    group: "Decide",
    approves: true,
    everywhere: true,
  },
  deny: { keys: ["D"], label: "Deny, with a reason", group: "Decide" },
  terminate: { keys: ["Shift+D"], label: "Deny and stop the agent", group: "Decide" },
  edit: { keys: ["E"], label: "Edit the arguments", group: "Decide" },
  answer: { keys: ["R"], label: "Answer", group: "Decide" },
  option: {
    keys: ["1", "2", "3", "4", "5", "6", "7", "8", "9"],
    label: "Choose an option of a question (sends nothing)",
    group: "Decide",
  },
  snooze: { keys: ["S"], label: "Snooze: hide it for a while (decides nothing)", group: "Decide" },
  grant: { keys: ["P"], label: "New rule from this call", group: "Decide" },
  undo: { keys: ["Z"], label: "Take a held approval back", group: "Decide" },
  reveal: { keys: ["V"], label: "Reveal hidden values", group: "Look" },
  raw: { keys: ["I"], label: "Bytes as received", group: "Look" },
  why: { keys: ["W"], label: "Why was I asked", group: "Look" },
  trace: { keys: ["T"], label: "From a request to its trace, and back", group: "Look" },
  open: { keys: ["ArrowRight"], label: "Open a branch", group: "Time line" },
  close: { keys: ["ArrowLeft"], label: "Close a branch, then go to its parent", group: "Time line" },
  trouble: { keys: ["F"], label: "Next failure or repair", group: "Time line" },
  closer: { keys: ["+", "="], label: "Closer", group: "Time line", repeats: true },
  farther: { keys: ["-"], label: "Farther", group: "Time line", repeats: true },
  earlier: { keys: ["Shift+ArrowLeft"], label: "Earlier", group: "Time line", repeats: true },
  later: { keys: ["Shift+ArrowRight"], label: "Later", group: "Time line", repeats: true },
  focusSpan: { keys: ["L"], label: "Fit this line", group: "Time line" },
  fit: { keys: ["0"], label: "Fit the whole trace", group: "Time line" },
  inbox: { keys: ["G Q"], label: "Go to Inbox", group: "Screens" },
  history: { keys: ["G H"], label: "Go to History", group: "Screens" },
  overview: { keys: ["G O"], label: "Go to Overview", group: "Screens" },
  traces: { keys: ["G T"], label: "Go to Traces", group: "Screens" },
  agents: { keys: ["G A"], label: "Go to Agents", group: "Screens" },
  operators: { keys: ["G P"], label: "Go to Operators", group: "Screens" },
  setup: { keys: ["G S"], label: "Go to Setup", group: "Screens" },
  settings: { keys: ["G ,"], label: "Go to Settings", group: "Screens" },
  rejected: { keys: ["G J"], label: "Go to Rejected", group: "Screens" },
  alarms: { keys: ["G L"], label: "Alarms", group: "Desk" },
  rules: { keys: ["G R"], label: "Go to Rules", group: "Screens" },
  newRule: { keys: ["C"], label: "Write a new rule", group: "Desk" },
  suggestion: { keys: ["U"], label: "Next suggested rule", group: "Desk" },
  matrix: { keys: ["M"], label: "What happens now: tools by risks", group: "Desk" },
  panic: { keys: ["Ctrl+Shift+."], label: "Panic: every automatic approval off", group: "Desk", everywhere: true },
  palette: {
    keys: ["Ctrl+K"],
    label: "Find commands, waiting calls, agents and rules",
    group: "Desk",
    everywhere: true,
  },
  zoomIn: { keys: ["Ctrl++", "Ctrl+="], label: "Zoom in", group: "Desk", everywhere: true, repeats: true },
  zoomOut: { keys: ["Ctrl+-"], label: "Zoom out", group: "Desk", everywhere: true, repeats: true },
  zoomReset: { keys: ["Ctrl+0"], label: "Zoom 100 %", group: "Desk", everywhere: true },
  help: { keys: ["?"], label: "Keys", group: "Desk" },
  back: { keys: ["Escape"], label: "Back, close", group: "Desk", everywhere: true },
} as const satisfies Record<string, HotkeyDefinition>;

export type CommandId = keyof typeof hotkeys;

export const commandIds = Object.keys(hotkeys) as CommandId[];

export const definitionOf = (id: CommandId): HotkeyDefinition => hotkeys[id];

/** How a stroke is printed on a key cap. */
const CAPS: Record<string, string> = {
  ArrowDown: "↓",
  ArrowUp: "↑",
  ArrowLeft: "←",
  ArrowRight: "→",
  Escape: "Esc",
  Shift: "⇧",
};

export const printKeys = (keys: string): string =>
  keys
    .split(" ")
    .map((stroke) =>
      stroke
        .split(/\+(?=.)/)
        .map((part) => CAPS[part] ?? part)
        .join(" "),
    )
    .join(" then ");

export const hintOf = (id: CommandId): string => printKeys(definitionOf(id).keys[0] ?? "");

/** What is needed of a keyboard event. */
export interface Stroke {
  readonly key: string;
  readonly code: string;
  readonly ctrlKey: boolean;
  readonly altKey: boolean;
  readonly metaKey: boolean;
  readonly shiftKey: boolean;
  getModifierState?(key: string): boolean;
}

const isLetter = (key: string): boolean => /^[a-z]$/i.test(key);

/**
 * The letter of the key where the layout prints one of another script. A sign is what it prints, also in a letter's
 * place, and so is what a third level of the layout adds.
 */
const letterOf = (stroke: Stroke): string => {
  const otherScript =
    /^\p{L}$/u.test(stroke.key) && !isLetter(stroke.key) && stroke.getModifierState?.("AltGraph") !== true;
  return otherScript && /^Key[A-Z]$/.test(stroke.code) ? stroke.code.slice(3) : stroke.key;
};

/** The key of the full stop: with Shift every layout prints another sign on it. */
const isPeriod = ({ key, code }: Stroke): boolean =>
  key === "." || (key === ">" && code !== "IntlBackslash") || (code === "Period" && !/^\p{L}$/u.test(key));

/** A stroke as the registry spells it. */
export const spell = (stroke: Stroke): string => {
  const period = stroke.ctrlKey && stroke.shiftKey && isPeriod(stroke);
  const key = period ? "." : letterOf(stroke);
  const named = isLetter(key) ? key.toUpperCase() : key;
  // For signs the shift key is part of what is printed: `?` is `?` on every layout.
  const shift = stroke.shiftKey && (period || isLetter(key) || key.length > 1);
  return [
    stroke.ctrlKey ? "Ctrl" : "",
    stroke.altKey ? "Alt" : "",
    stroke.metaKey ? "Meta" : "",
    shift ? "Shift" : "",
    named,
  ]
    .filter((part) => part !== "")
    .join("+");
};

const byKeys = new Map<string, CommandId>(
  commandIds.flatMap((id) => definitionOf(id).keys.map((keys): [string, CommandId] => [keys, id])),
);
const firstStrokes = new Set([...byKeys.keys()].filter((keys) => keys.includes(" ")).map((keys) => keys.split(" ")[0]));

/** Keys that are held with others and are not a stroke alone. */
const MODIFIERS: ReadonlySet<string> = new Set([
  "Shift",
  "Control",
  "Alt",
  "AltGraph",
  "Meta",
  "CapsLock",
  "NumLock",
  "Fn",
]);
export const isModifier = (key: string): boolean => MODIFIERS.has(key);

/** The place of the option that a digit chooses. */
export const optionOf = (stroke: Stroke): number | null =>
  /^[1-9]$/u.test(spell(stroke)) ? Number(stroke.key) - 1 : null;

/** The circumstances of a stroke. */
export interface StrokeContext {
  /** The focus is in a field that takes text. */
  readonly inText: boolean;
  /** A dialog or a menu is open. */
  readonly covered: boolean;
  /** Since the window gained focus. */
  readonly sinceFocusMs: number;
  /** Since a key went down in a field that its operator did not leave. */
  readonly sinceTypedMs: number;
  /** The operator has switched single keys off. */
  readonly singleKeysOff: boolean;
  /** The first stroke of a sequence, if one is open. */
  readonly prefix: string | null;
}

export interface StrokeResult {
  readonly command: CommandId | null;
  /** The sequence that is open after it. */
  readonly prefix: string | null;
  /** It was meant for the sequence and means nothing else, to the browser neither. */
  readonly spent: boolean;
}

/**
 * Single keys are dead for this long after the window has gained focus, and after each key that went down meanwhile.
 */
export const FOCUS_GUARD_MS = 400;
/**
 * And for this long after a key went down in a field that is gone: who types does not see at once that nothing takes
 * the text any more.
 */
export const TYPED_GUARD_MS = 1_000;

/** Keys by which somebody leaves a field, or sends what is in it. */
const LEAVING: ReadonlySet<string> = new Set(["Escape", "Enter", "Tab"]);
export const leavesField = (key: string): boolean => LEAVING.has(key);

const isSingle = (keys: string): boolean => !/^(Ctrl|Alt|Meta)\+/.test(keys) && keys !== "Escape";

const nothing = (prefix: string | null): StrokeResult => ({ command: null, prefix, spent: false });

/**
 * What a stroke means. The first one of a sequence opens it also where single keys are dead for a moment, and it stays
 * open until the next key: a letter after it is never a single key, however late it comes.
 */
export const resolveStroke = (stroke: Stroke, context: StrokeContext): StrokeResult => {
  if (isModifier(stroke.key)) return nothing(context.prefix);
  const spelled = spell(stroke);
  const single = isSingle(spelled);
  // Help and palette print sequences in capitals.
  const small = spelled.replace(/^Shift\+(?=.$)/, "");
  if (single && (context.inText || context.singleKeysOff)) return nothing(null);
  if (firstStrokes.has(small)) return nothing(small);
  if (single && (context.sinceFocusMs < FOCUS_GUARD_MS || context.sinceTypedMs < TYPED_GUARD_MS))
    return nothing(context.prefix);
  const open = !context.inText && !context.covered ? context.prefix : null;
  const command = open !== null && single ? byKeys.get(`${open} ${small}`) : byKeys.get(spelled);
  const definition = command === undefined ? null : definitionOf(command);
  if (open !== null && (single ? definition === null : spelled === "Escape" || definition?.approves === true)) {
    return { command: null, prefix: null, spent: true };
  }
  const allowed = definition !== null && (definition.everywhere === true || (!context.covered && !context.inText));
  return { command: allowed ? (command ?? null) : null, prefix: null, spent: false };
};
