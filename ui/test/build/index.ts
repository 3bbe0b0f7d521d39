/** Small builders for tests: only what a test names differs from the default. */
export * from "./text";
export * from "./inbox";
export * from "./traces";
export * from "./agents";
export * from "./history";
export * from "./desk";
export * from "./setup";
export * from "./rules";
