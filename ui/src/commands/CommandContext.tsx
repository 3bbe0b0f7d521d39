/** One listener for the keyboard; components say what a command does while they are on screen. */
import {
  createContext,
  useCallback,
  useContext,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
  type ReactNode,
} from "react";
import {
  definitionOf,
  FOCUS_GUARD_MS,
  isModifier,
  leavesField,
  resolveStroke,
  TYPED_GUARD_MS,
  type CommandId,
  type Stroke,
} from "../hotkeys";
import { useSetting } from "./settings";
import { takesText } from "./text";

/** A key or a pointer that went down, on the page's monotonic clock. */
interface CommandPress {
  readonly at: number;
  readonly repeat: boolean;
  /** What was pressed, where it was a key. */
  readonly stroke?: Stroke;
}

/** False says that there was nothing to do: the next handler is asked. */
type Handler = (press: CommandPress) => unknown;

interface CommandBus {
  register(id: CommandId, handler: Handler): () => void;
  run(id: CommandId, press: CommandPress): boolean;
  available(): ReadonlySet<CommandId>;
  cover(): () => void;
  write(): () => void;
  readonly covered: boolean;
}

const CommandBusContext = createContext<CommandBus | null>(null);

const useCommandBus = (): CommandBus => {
  const bus = useContext(CommandBusContext);
  if (bus === null) throw new Error("useCommand outside of CommandProvider");
  return bus;
};

/** Arrows choose among radio buttons, and move nothing else meanwhile. */
const choosesWith = (target: EventTarget | null, key: string): boolean =>
  target instanceof HTMLElement && target.matches("input[type=radio]") && key.startsWith("Arrow");

const OpenSequenceContext = createContext<string | null>(null);

export const CommandProvider = ({ children }: { readonly children: ReactNode }) => {
  const handlers = useRef(new Map<CommandId, Handler[]>());
  const focusedAt = useRef(-Infinity);
  const typedAt = useRef(-Infinity);
  // Two keys may go down between two renderings.
  const prefix = useRef<string | null>(null);
  const [openSequence, setOpenSequence] = useState<string | null>(null);
  /** The key that ended a sequence: held down, it repeats nothing. */
  const ending = useRef<string | null>(null);
  const [covers, setCovers] = useState(0);
  const writing = useRef(0);
  const [singleKeys] = useSetting("singleKeys");

  const register = useCallback((id: CommandId, handler: Handler) => {
    const before = handlers.current.get(id) ?? [];
    handlers.current.set(id, [...before, handler]);
    return () => {
      handlers.current.set(
        id,
        (handlers.current.get(id) ?? []).filter((other) => other !== handler),
      );
    };
  }, []);
  const run = useCallback((id: CommandId, press: CommandPress): boolean => {
    return (handlers.current.get(id) ?? []).toReversed().some((handler) => handler(press) !== false);
  }, []);
  const available = useCallback(
    () => new Set([...handlers.current].filter(([, list]) => list.length > 0).map(([id]) => id)),
    [],
  );
  const cover = useCallback(() => {
    setCovers((count) => count + 1);
    return () => {
      setCovers((count) => count - 1);
    };
  }, []);

  const write = useCallback(() => {
    writing.current += 1;
    return () => {
      writing.current -= 1;
    };
  }, []);

  // With the commit that uncovers the desk, not after its painting: a key pressed as a dialog goes counts.
  useLayoutEffect(() => {
    const leaveOpen = (sequence: string | null): void => {
      prefix.current = sequence;
      setOpenSequence(sequence);
    };
    const onFocus = (event: FocusEvent): void => {
      focusedAt.current = event.timeStamp;
    };
    const onPointerDown = (): void => {
      typedAt.current = -Infinity;
      leaveOpen(null);
    };
    const onKeyDown = (event: KeyboardEvent): void => {
      const inText = writing.current > 0 || takesText(event.target);
      const sinceTypedMs = event.timeStamp - typedAt.current;
      const sinceFocusMs = event.timeStamp - focusedAt.current;
      // Whoever goes on typing into a field that is gone, or into another window, has not noticed it yet.
      if (inText || sinceTypedMs < TYPED_GUARD_MS)
        typedAt.current = leavesField(event.key) ? -Infinity : event.timeStamp;
      if (sinceFocusMs < FOCUS_GUARD_MS) focusedAt.current = event.timeStamp;
      if (event.isComposing) return;
      if (event.defaultPrevented || choosesWith(event.target, event.key)) {
        if (!isModifier(event.key)) leaveOpen(null);
        return;
      }
      if (!event.repeat) ending.current = null;
      if (event.repeat && ending.current === event.code) return;
      const open = prefix.current;
      const {
        command,
        prefix: stays,
        spent,
      } = resolveStroke(event, {
        inText,
        covered: covers > 0,
        sinceFocusMs,
        sinceTypedMs,
        singleKeysOff: singleKeys === "off",
        prefix: open,
      });
      leaveOpen(stays);
      if (open !== null && stays === null) ending.current = event.code;
      if (command === null) {
        if (spent) event.preventDefault();
        return;
      }
      if (event.repeat && definitionOf(command).repeats !== true) return;
      if (run(command, { at: event.timeStamp, repeat: event.repeat, stroke: event })) event.preventDefault();
    };
    window.addEventListener("focus", onFocus);
    window.addEventListener("keydown", onKeyDown);
    window.addEventListener("pointerdown", onPointerDown);
    return () => {
      window.removeEventListener("pointerdown", onPointerDown);
      window.removeEventListener("focus", onFocus);
      window.removeEventListener("keydown", onKeyDown);
    };
  }, [covers, run, singleKeys]);

  const bus = useMemo<CommandBus>(
    () => ({ register, run, available, cover, write, covered: covers > 0 }),
    [register, run, available, cover, write, covers],
  );
  return (
    <CommandBusContext value={bus}>
      <OpenSequenceContext value={openSequence}>{children}</OpenSequenceContext>
    </CommandBusContext>
  );
};

/** What a command does while this component is on screen and `enabled`. The last one is asked first. */
export const useCommand = (id: CommandId, handler: Handler, enabled = true): void => {
  const { register } = useCommandBus();
  const latest = useRef(handler);
  useLayoutEffect(() => {
    latest.current = handler;
  });
  useLayoutEffect(
    () => (enabled ? register(id, (press) => latest.current(press)) : undefined),
    [id, enabled, register],
  );
};

/** Says that something lies over the desk while this component is on screen. */
export const useCover = (): void => {
  const { cover } = useCommandBus();
  useLayoutEffect(() => cover(), [cover]);
};

/**
 * Says that somebody writes while this component is on screen and `writes`: letters are not commands then, wherever
 * the focus is, as a button beside the field or a list of options has it for a moment.
 */
export const useWriting = (writes: boolean): void => {
  const { write } = useCommandBus();
  useLayoutEffect(() => (writes ? write() : undefined), [write, writes]);
};

/** The first stroke of a sequence that waits for its second one. */
export const useOpenSequence = (): string | null => useContext(OpenSequenceContext);

/** Whether something lies over the desk. */
export const useCovered = (): boolean => useCommandBus().covered;

export const useCommandRunner = (): Pick<CommandBus, "run" | "available"> => useCommandBus();
