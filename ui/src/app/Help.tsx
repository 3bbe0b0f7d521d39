import { Overlay } from "../components/Overlay";
import { commandGroups, commandIds, definitionOf, hintOf, printKeys } from "../hotkeys";
import { useSetting } from "../commands/settings";

/** Every key, drawn from the registry. */
export const Help = ({ onClose }: { readonly onClose: () => void }) => {
  const [singleKeys, setSingleKeys] = useSetting("singleKeys");
  return (
    <Overlay title="Keys" wide onClose={onClose}>
      <div className="columns-2 gap-8 narrow:columns-1">
        {commandGroups.map((group) => (
          <section key={group} className="mb-4">
            <h3>{group}</h3>
            <dl className="m-0 grid grid-cols-[1fr_auto] gap-y-1">
              {commandIds
                .filter((id) => definitionOf(id).group === group)
                .map((id) => (
                  <div key={id} className="row-line col-span-2 grid break-inside-avoid grid-cols-subgrid py-1">
                    <dt>{definitionOf(id).label}</dt>
                    <dd className="m-0 flex items-center justify-end gap-1.5">
                      {definitionOf(id).keys.map((keys) => (
                        <kbd key={keys} className="kbd">
                          {printKeys(keys)}
                        </kbd>
                      ))}
                    </dd>
                  </div>
                ))}
            </dl>
          </section>
        ))}
      </div>
      <section className="mb-4">
        <h3>Find</h3>
        <p className="m-0">
          <kbd className="kbd">{hintOf("palette")}</kbd> finds waiting calls by tool, agent or arguments. It also finds
          agents by name or tool, and rules by name.
        </p>
      </section>
      <p className="text-text-2">
        Enter, Space and digits never approve. Single keys do nothing while you type, and just after the window gains
        focus.
      </p>
      <label className="flex items-center gap-2">
        <input
          type="checkbox"
          checked={singleKeys === "on"}
          onChange={(event) => {
            setSingleKeys(event.target.checked ? "on" : "off");
          }}
        />
        Single keys act
      </label>
    </Overlay>
  );
};
