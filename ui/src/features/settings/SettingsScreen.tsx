import { useQuery } from "@tanstack/react-query";
import { useDesk } from "../../desk/DeskContext";
import { BusSettings } from "./BusSettings";
import { IdentitySettings } from "./IdentitySettings";
import { PracticeSettings } from "./PracticeSettings";
import { ReaderSettings } from "./ReaderSettings";
import { StoreSettings } from "./StoreSettings";
import { WindowSettings } from "./WindowSettings";
import { Failed } from "../../components/Failed";

/** What this window can change, and how the rest was set. */
export const SettingsScreen = () => {
  const desk = useDesk();
  const { data, error, isPending } = useQuery({
    queryKey: ["settings"],
    queryFn: () => desk.call("settings", {}),
    staleTime: 0,
  });
  return (
    <main
      className="min-h-0 min-w-0 flex-1 overflow-auto px-7 py-[18px] narrow:px-4 outline-offset-[-2px]"
      aria-label="Settings"
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls takes the keyboard
      tabIndex={0}
    >
      <div className="max-w-[860px]">
        <h1 className="mt-0 mb-5 text-[15px] font-semibold">Settings</h1>
        <WindowSettings />
        <PracticeSettings />
        <ReaderSettings />
        <Failed error={error} />
        {data === undefined ? (
          isPending ? (
            <p className="text-text-3">Reading…</p>
          ) : null
        ) : (
          <>
            <BusSettings settings={data} />
            <IdentitySettings settings={data} />
            <StoreSettings settings={data} />
          </>
        )}
      </div>
    </main>
  );
};
