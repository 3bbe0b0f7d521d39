import { X } from "lucide-react";
import { useEffect, useState, type ReactNode } from "react";
import { Region } from "./Region";
import { Dialog } from "./over";

interface OverlayProps {
  readonly title: string;
  readonly wide?: boolean;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** What has the keyboard; of a menu, which goes as its line is chosen, what opened the menu. */
const openerOf = (focused: Element | null): HTMLElement | null => {
  const trigger = focused?.closest("[role=menu]")?.getAttribute("aria-labelledby");
  const opener = typeof trigger === "string" ? document.querySelector(`#${CSS.escape(trigger)}`) : focused;
  return opener instanceof HTMLElement ? opener : null;
};

const focusPlace = (place: HTMLElement): void => {
  if (!place.hasAttribute("tabindex")) place.tabIndex = -1;
  place.focus();
};

/** Where the keyboard goes on from once a dialog is closed. */
interface Origin {
  readonly before: HTMLElement | null;
  readonly around: HTMLElement | null;
  /** Of the dialog that this one came from, which may be closed before it. */
  readonly below: Origin | null;
}

/** Of the dialogs that are open, the one on top last. */
const opened: Origin[] = [];

const originNow = (): Origin => {
  const before = openerOf(document.activeElement);
  return {
    before,
    around: before?.closest<HTMLElement>("[role=toolbar], [role=region], main") ?? null,
    below: opened.at(-1) ?? null,
  };
};

const goOnFrom = ({ before, around, below }: Origin): void => {
  if (before?.isConnected === true) before.focus();
  // What opened it is gone, or can do nothing any more: the keyboard goes on from beside it.
  if (document.activeElement === document.body && around !== null) focusPlace(around);
  if (document.activeElement === document.body && below !== null) goOnFrom(below);
};

const FIELD =
  "input[type=radio]:checked, input:not([type=radio], :disabled), select:not(:disabled), textarea:not(:disabled)";

/**
 * The first field that is in view; else what scrolls, for the arrows. No button, so that a stray Enter does nothing.
 */
const focusFirst = (event: Event): void => {
  event.preventDefault();
  const body = event.target instanceof HTMLElement ? event.target.querySelector<HTMLElement>("[role=region]") : null;
  const field = body?.querySelector<HTMLElement>(FIELD);
  const inView = (one: HTMLElement): boolean =>
    body !== null && one.getBoundingClientRect().bottom <= body.getBoundingClientRect().bottom;
  (field !== null && field !== undefined && inView(field) ? field : body)?.focus({ preventScroll: true });
};

/** A dialog over the desk. Whatever had the keyboard before has it afterwards. */
export const Overlay = ({ title, wide = false, onClose, children }: OverlayProps) => {
  const [origin] = useState(originNow);
  useEffect(() => {
    opened.push(origin);
    return () => {
      opened.splice(opened.indexOf(origin), 1);
    };
  }, [origin]);
  const giveBack = (event: Event): void => {
    event.preventDefault();
    // The next dialog may be open by now, and has it.
    if (document.activeElement?.isConnected === true && document.activeElement.closest("[role=dialog]") !== null)
      return;
    goOnFrom(origin);
  };
  return (
    <Dialog.Root
      open
      onOpenChange={(open) => {
        if (!open) onClose();
      }}
    >
      <Dialog.Portal>
        <Dialog.Overlay className="fixed inset-0 z-30 bg-scrim" />
        <Dialog.Content
          aria-describedby={undefined}
          onOpenAutoFocus={focusFirst}
          onCloseAutoFocus={giveBack}
          className={`fixed top-[10vh] left-1/2 z-40 flex max-h-[80vh] -translate-x-1/2 flex-col overflow-hidden
            rounded-xl border border-line bg-panel shadow-2xl ${wide ? "w-[min(1000px,92vw)]" : "w-[min(620px,92vw)]"}`}
        >
          <div className="flex items-center border-b border-line px-5 py-3">
            <Dialog.Title className="m-0 text-[15px] font-semibold">{title}</Dialog.Title>
            <Dialog.Close
              className="ml-auto rounded p-1 text-text-3 hover:bg-raised hover:text-text"
              aria-label="Close"
            >
              <X size={16} aria-hidden="true" />
            </Dialog.Close>
          </div>
          <Region label={title} className="px-5 py-4">
            {children}
          </Region>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
};
