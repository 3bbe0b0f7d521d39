import { Outlet, useLocation, useNavigate, useRouter } from "@tanstack/react-router";
import { Tooltip } from "radix-ui";
import { useEffect, useRef, useState } from "react";
import { useCommand } from "../commands/CommandContext";
import { useOwnMenu } from "../commands/menu";
import { useTheme } from "../commands/theme";
import { useZoom } from "../commands/zoom";
import { useDesk, useLost } from "../desk/DeskContext";
import { AlarmsDialog } from "../features/alarms/AlarmsDialog";
import { undoableKeys } from "../features/inbox/sent";
import { SentProvider, useSentVerdicts } from "../features/inbox/useSent";
import { Help } from "./Help";
import { LateFailures } from "./LateFailures";
import { Navigation } from "./Navigation";
import { useNotifications } from "./notifications";
import { Palette } from "./Palette";
import { PanicDialog } from "./PanicDialog";
import { StatusBar } from "./StatusBar";

/** The frame of every screen. */
export const Shell = () => {
  useTheme();
  useOwnMenu();
  useNotifications();
  useZoom();
  const navigate = useNavigate();
  const router = useRouter();
  const desk = useDesk();
  const lost = useLost();
  const sent = useSentVerdicts();
  const inInbox = useLocation({ select: ({ pathname }) => pathname === "/" });
  const [open, setOpen] = useState<"alarms" | "help" | "palette" | "panic" | null>(null);
  const close = (): void => {
    setOpen(null);
  };
  useCommand("help", () => {
    setOpen("help");
  });
  useCommand("palette", () => {
    setOpen((now) => (now === "palette" ? null : "palette"));
  });
  useCommand("alarms", () => {
    setOpen("alarms");
  });
  // Asked again while its dialog is open, it is another question.
  const [panicAsked, setPanicAsked] = useState(0);
  const lastAsked = useRef(0);
  useCommand("panic", () => {
    lastAsked.current += 1;
    setPanicAsked(lastAsked.current);
    setOpen("panic");
  });
  // Whoever turned it off meanwhile has answered: the dialog would turn it on again.
  useEffect(
    () =>
      desk.onPanicAsked(() => {
        if ((desk.view().status?.panic ?? null) !== null) setOpen("panic");
      }),
    [desk],
  );
  // The inbox itself takes back without leaving what it shows; from any other screen the way leads to the card.
  useCommand("undo", () => {
    if (inInbox || (undoableKeys(sent.list, desk.view().inbox.rows).length === 0 && !sent.sending)) return false;
    const [place, field] = [router.state.location.href, document.activeElement];
    void sent.undo().then((taken) => {
      // Pressed once more than there was to take back, it asked for nothing.
      if (taken === null) return;
      const [first] = taken;
      // A late answer takes nobody from where he has gone by now, nor out of a field.
      if (router.state.location.href === place && document.activeElement === field)
        void navigate({ to: "/", search: first === undefined ? {} : { card: first } });
    });
    return true;
  });
  useCommand("inbox", () => void navigate({ to: "/" }));
  useCommand("history", () => void navigate({ to: "/history" }));
  useCommand("overview", () => void navigate({ to: "/overview" }));
  useCommand("traces", () => void navigate({ to: "/traces" }));
  useCommand("agents", () => void navigate({ to: "/agents" }));
  useCommand("operators", () => void navigate({ to: "/operators" }));
  useCommand("setup", () => void navigate({ to: "/setup" }));
  useCommand("settings", () => void navigate({ to: "/settings" }));
  useCommand("rules", () => void navigate({ to: "/rules" }));
  useCommand("rejected", () => void navigate({ to: "/rejected" }));
  return (
    <Tooltip.Provider delayDuration={300}>
      <div className="flex h-full flex-col">
        {lost === null ? null : (
          <p role="alert" className="m-0 border-b border-bad-line bg-bad-bg px-3.5 py-1.5 text-bad" data-testid="lost">
            {lost.message}
          </p>
        )}
        <LateFailures />
        <div className="grid min-h-0 flex-1 grid-cols-[auto_minmax(0,1fr)] grid-rows-[minmax(0,1fr)]">
          <Navigation />
          <div className="flex min-h-0 min-w-0">
            <SentProvider value={sent}>
              <Outlet />
            </SentProvider>
          </div>
        </div>
        <StatusBar />
      </div>
      {open === "alarms" ? <AlarmsDialog onClose={close} /> : null}
      {open === "help" ? <Help onClose={close} /> : null}
      {open === "panic" ? (
        <PanicDialog key={panicAsked} onClose={close} isLast={() => lastAsked.current === panicAsked} />
      ) : null}
      {open === "palette" ? <Palette onClose={close} /> : null}
    </Tooltip.Provider>
  );
};
