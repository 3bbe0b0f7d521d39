import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    // They wait for servers and deadlines most of the time.
    maxWorkers: 4,
    // Limits that only a hanging test reaches: a busy machine may be many times slower.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    teardownTimeout: 10_000,
    // Warnings are what the SDK says of decisions that these tests forge.
    execArgv: ["--no-warnings"],
  },
});
