import type { TracingChannel } from 'node:diagnostics_channel';
import { currentRollout, type RolloutContext } from '@agentlightning/core';
import { rolloutStorage } from '@agentlightning/core/internal';
import type { Operation } from './operation.ts';
import { endOf } from './operation-end.ts';
import type { SdkStart, SdkStepStart, SdkToolEvent } from './sdk-events.ts';
import { beginOperation, startOf, type TelemetryOptions } from './telemetry-options.ts';

const channelName = 'ai:telemetry';

/** A message on the channel of version 7. */
interface ChannelMessage {
  readonly type: string;
  readonly event: SdkStart & SdkStepStart & Partial<SdkToolEvent>;
  readonly result?: unknown;
  readonly error?: unknown;
}

/**
 * Subscribes to version 7's diagnostics channel, to record calls with their own integrations, which replace the global
 * ones. Calls reported to the global integration are ignored here. Has no effect on runtimes without such channels.
 *
 * @returns the function to unsubscribe
 */
export function subscribeToChannel(options: TelemetryOptions): () => void {
  const diagnostics = globalThis.process?.getBuiltinModule?.('node:diagnostics_channel');
  const channel = diagnostics?.tracingChannel(channelName);
  return channel === undefined ? () => {} : new ChannelSubscriber(options).follow(channel);
}

class ChannelSubscriber {
  readonly #options: TelemetryOptions;
  /** Started operations that may not be reported to the integration. */
  readonly #starts: Map<string, SdkStart> = new Map();

  constructor(options: TelemetryOptions) {
    this.#options = options;
  }

  follow(channel: TracingChannel<unknown, object>): () => void {
    const storage = rolloutStorage();
    const end = (message: unknown): void => this.#end(message as ChannelMessage);
    channel.start.bindStore(storage, (message) => this.#begin(message as ChannelMessage) as RolloutContext);
    channel.asyncEnd.subscribe(end);
    return () => {
      channel.start.unbindStore(storage);
      channel.asyncEnd.unsubscribe(end);
    };
  }

  /** Returns the context for the operation or step that starts. */
  #begin({ type, event }: ChannelMessage): RolloutContext | undefined {
    const around = currentRollout() ?? undefined;
    const { callId } = event;
    if (around === undefined || callId === undefined) return around;
    if (isOperation(type)) {
      this.#starts.set(callId, event);
      return around;
    }
    const operation = this.#channelOperation(callId);
    return (operation === undefined ? null : this.#beginInside({ type, event }, operation)) ?? around;
  }

  #beginInside({ type, event }: ChannelMessage, operation: Operation): RolloutContext | null {
    const { steps } = operation;
    if (type === 'languageModelCall') {
      const call = operation.callToSend(() => startOf(event));
      call.requests += 1;
      return steps.rolloutOf(call.id);
    }
    if (type !== 'executeTool' || event.toolCall === undefined) return null;
    return steps.rolloutOf(operation.beginTool({ ...event, toolCall: event.toolCall }));
  }

  #end({ type, event, result, error }: ChannelMessage): void {
    const { callId = '' } = event;
    this.#starts.delete(callId);
    const operation = this.#options.operations.get(callId);
    if (operation?.isFromChannel !== true) return;
    if (type === 'languageModelCall') endRequest(operation, result, error);
    else if (type === 'executeTool' && event.toolCall !== undefined) {
      const { output } = (result ?? {}) as { output?: SdkToolEvent['toolOutput'] };
      operation.endTool(event.toolCall.toolCallId, output ?? { error });
    } else if (isOperation(type)) operation.end(endOf(error));
  }

  /** An operation that only the channel reports; created with its first step. */
  #channelOperation(id: string): Operation | undefined {
    const start = this.#starts.get(id);
    this.#starts.delete(id);
    let operation = this.#options.operations.get(id);
    if (start !== undefined && operation === undefined) {
      operation = beginOperation(this.#options, id, start);
      if (operation !== undefined) operation.isFromChannel = true;
    }
    return operation?.isFromChannel === true ? operation : undefined;
  }
}

function isOperation(type: string): boolean {
  return type === 'generateText' || type === 'streamText';
}

function endRequest(operation: Operation, result: unknown, error: unknown): void {
  const call = operation.modelCall;
  if (call === null) return;
  if (error !== undefined) operation.requestFailed(call, error);
  else operation.takeResult(call, result);
}
