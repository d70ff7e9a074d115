import { AsyncLocalStorage } from 'node:async_hooks';
import { tracingChannel } from 'node:diagnostics_channel';

const storage = new AsyncLocalStorage<never>();
const nothing = (): void => {};

/** Has the same callbacks as the adapter, and does nothing. */
const idleTelemetry = {
  onStart: nothing,
  onEnd: nothing,
  executeLanguageModelCall: ({ execute }: { readonly execute: () => PromiseLike<unknown> }) => execute(),
};

/** Registers empty listeners with version 7 of the AI SDK, like the adapter: an integration and a channel subscriber. */
export function listenToAISDK(): () => void {
  const holder = globalThis as { AI_SDK_TELEMETRY_INTEGRATIONS?: unknown };
  holder.AI_SDK_TELEMETRY_INTEGRATIONS = [idleTelemetry];
  const { start, asyncEnd } = tracingChannel('ai:telemetry');
  start.bindStore(storage, () => undefined as never);
  asyncEnd.subscribe(nothing);
  return () => {
    delete holder.AI_SDK_TELEMETRY_INTEGRATIONS;
    start.unbindStore(storage);
    asyncEnd.unsubscribe(nothing);
  };
}
