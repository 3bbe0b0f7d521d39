/** What a bundler for browsers or an edge runtime gets in the place of the SDK. */
throw new Error("countersign-sdk runs on a server alone: no browser, no edge runtime, as journal and login need one");
