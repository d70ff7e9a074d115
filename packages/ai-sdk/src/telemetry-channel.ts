import type { TracingChannel } from 'node:diagnostics_channel';
import { currentRollout, type RolloutContext } from '@agentlightning/core';
import { rolloutStorage } from '@agentlightning/core/adapter';
import type { Operation } from './operation.ts';
import { endOf } from './operation-end.ts';
import type { SdkStart, SdkStepStart, SdkToolEvent } from './sdk-events.ts';
import { beginOperation, startOf, type TelemetryOptions } from './telemetry-options.ts';

const channelName = 'ai:telemetry';

/** What version 7 says on its channel. */
interface ChannelMessage {
  readonly type: string;
  readonly event: SdkStart & SdkStepStart & Partial<SdkToolEvent>;
  readonly result?: unknown;
  readonly error?: unknown;
}

/**
 * Follows version 7's diagnostics channel, for calls that name integrations of their own in the place of the global ones.
 * Calls that the integration is told of are left to it. Does nothing where there are no such channels.
 *
 * @returns stops following
 */
export function followChannel(options: TelemetryOptions): () => void {
  const diagnostics = globalThis.process?.getBuiltinModule?.('node:diagnostics_channel');
  const channel = diagnostics?.tracingChannel(channelName);
  return channel === undefined ? () => {} : new ChannelFollower(options).follow(channel);
}

class ChannelFollower {
  readonly #options: TelemetryOptions;
  /** Operations that have begun, and that the integration may not be told of. */
  readonly #beginnings: Map<string, SdkStart> = new Map();

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

  /** Gives the context that what the message tells of happens in. */
  #begin({ type, event }: ChannelMessage): RolloutContext | undefined {
    const around = currentRollout() ?? undefined;
    const { callId } = event;
    if (around === undefined || callId === undefined) return around;
    if (isOperation(type)) {
      this.#beginnings.set(callId, event);
      return around;
    }
    const operation = this.#followedOperation(callId);
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
    this.#beginnings.delete(callId);
    const operation = this.#options.operations.get(callId);
    if (operation?.isFollowed !== true) return;
    if (type === 'languageModelCall') endRequest(operation, result, error);
    else if (type === 'executeTool' && event.toolCall !== undefined) {
      const { output } = (result ?? {}) as { output?: SdkToolEvent['toolOutput'] };
      operation.endTool(event.toolCall.toolCallId, output ?? { error });
    } else if (isOperation(type)) operation.end(endOf(error));
  }

  /** An operation that only the channel tells of, which shows when the first thing in it happens. */
  #followedOperation(id: string): Operation | undefined {
    const beginning = this.#beginnings.get(id);
    this.#beginnings.delete(id);
    let operation = this.#options.operations.get(id);
    if (beginning !== undefined && operation === undefined) {
      operation = beginOperation(this.#options, id, beginning);
      if (operation !== undefined) operation.isFollowed = true;
    }
    return operation?.isFollowed === true ? operation : undefined;
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
