import { X } from "lucide-react";
import { useState, type ReactNode } from "react";
import { Region } from "./Region";
import { Dialog } from "./over";

interface OverlayProps {
  readonly title: string;
  readonly wide?: boolean;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** A dialog over the desk. Whatever had the keyboard before has it afterwards. */
export const Overlay = ({ title, wide = false, onClose, children }: OverlayProps) => {
  const [before] = useState(() => document.activeElement);
  const giveBack = (event: Event): void => {
    event.preventDefault();
    if (before instanceof HTMLElement && before.isConnected) before.focus();
  };
  return (
    <Dialog.Root open onOpenChange={(open) => { if (!open) onClose(); }}>
      <Dialog.Portal>
        <Dialog.Overlay className="fixed inset-0 z-30 bg-scrim" />
        <Dialog.Content
          aria-describedby={undefined} onCloseAutoFocus={giveBack}
          className={`fixed top-[10vh] left-1/2 z-40 flex max-h-[80vh] -translate-x-1/2 flex-col overflow-hidden rounded-xl border border-line bg-panel shadow-2xl ${wide ? "w-[min(1000px,92vw)]" : "w-[min(620px,92vw)]"}`}
        >
          <div className="flex items-center border-b border-line px-5 py-3">
            <Dialog.Title className="m-0 text-[15px] font-semibold">{title}</Dialog.Title>
            <Dialog.Close className="ml-auto rounded p-1 text-text-3 hover:bg-raised hover:text-text" aria-label="Close"><X size={16} aria-hidden="true" /></Dialog.Close>
          </div>
          <Region label={title} className="px-5 py-4">{children}</Region>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
};
