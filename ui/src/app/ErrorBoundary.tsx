import { Component, type ReactNode } from "react";

interface ErrorBoundaryProps {
  readonly children: ReactNode;
}

interface ErrorBoundaryState {
  readonly failed: boolean;
}

/** When the page itself fails, nothing stays on screen that could be decided on. */
export class ErrorBoundary extends Component<ErrorBoundaryProps, ErrorBoundaryState> {
  override state: ErrorBoundaryState = { failed: false };

  static getDerivedStateFromError(): ErrorBoundaryState {
    return { failed: true };
  }

  override render(): ReactNode {
    if (!this.state.failed) return this.props.children;
    return (
      <main role="alert" className="grid h-full place-items-center p-8">
        <div className="max-w-prose">
          <h1 className="text-[17px] font-semibold">The window has failed</h1>
          <p className="text-text-2">
            Nothing was decided. Approvals that you gave before are still sent. Reload the window to go on.
          </p>
          <button
            type="button"
            className="rounded-lg border border-line bg-raised px-3.5 py-2 font-semibold"
            onClick={() => {
              window.location.reload();
            }}
          >
            Reload
          </button>
        </div>
      </main>
    );
  }
}
