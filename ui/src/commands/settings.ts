/** Choices of the operator that belong to this window only; kept by the web view. */
import { useCallback, useSyncExternalStore } from "react";
import { createNews } from "../desk/news";

const CHOICES = {
  theme: ["system", "dark", "light"],
  singleKeys: ["on", "off"],
  notifications: ["all", "urgent", "off"],
  screenNames: ["wide", "always"],
  // In percent; the first one counts where none is kept.
  zoom: ["100", "67", "80", "90", "110", "125", "150", "175", "200", "250", "300"],
} as const;

export type SettingName = keyof typeof CHOICES;
export type SettingValue<N extends SettingName> = (typeof CHOICES)[N][number];

const changes = createNews();
const place = (name: SettingName): string => `countersign.${name}`;

/** A choice as it is now: a key that is pressed twice goes on from the first time. */
export const readSetting = <N extends SettingName>(name: N): SettingValue<N> => {
  const choices: readonly SettingValue<N>[] = CHOICES[name];
  const [usual] = choices;
  const kept = localStorage.getItem(place(name));
  return choices.find((choice) => choice === kept) ?? (usual as SettingValue<N>);
};

const writeSetting = <N extends SettingName>(name: N, value: SettingValue<N>): void => {
  localStorage.setItem(place(name), value);
  changes.tell();
};

/** A choice and how it is changed; every place of the page that shows it follows. */
export const useSetting = <N extends SettingName>(name: N): [SettingValue<N>, (value: SettingValue<N>) => void] => {
  const value = useSyncExternalStore(changes.subscribe, () => readSetting(name));
  const write = useCallback(
    (next: SettingValue<N>) => {
      writeSetting(name, next);
    },
    [name],
  );
  return [value, write];
};

/** The next larger (1) or smaller (-1) zoom; the same at the end. */
export const nextZoom = (zoom: SettingValue<"zoom">, step: 1 | -1): SettingValue<"zoom"> => {
  const sizes = CHOICES.zoom.toSorted((a, b) => Number(a) - Number(b));
  return sizes[sizes.indexOf(zoom) + step] ?? zoom;
};

/** The choice after this one, round and round. */
export const nextChoice = <N extends SettingName>(name: N, value: SettingValue<N>): SettingValue<N> => {
  const choices: readonly SettingValue<N>[] = CHOICES[name];
  return choices[(choices.indexOf(value) + 1) % choices.length] ?? value;
};
