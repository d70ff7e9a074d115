import type { TracingChannel } from 'node:diagnostics_channel';
import { currentRollout, type RolloutContext } from '@agentlightning/core';
import { rolloutStorage } from '@agentlightning/core/adapter';
import { gatherStream } from './gathered-stream.ts';
import { endOf } from './operation-end.ts';
import { type Operations, toolStepId } from './operations.ts';
import type { SdkAnswer, SdkStart, SdkStepStart, SdkToolEvent } from './sdk-events.ts';
import type { AiSdkTelemetry } from './telemetry.ts';

const channelName = 'ai:telemetry';

/** What version 7 says on its channel. */
interface ChannelMessage {
  readonly type: string;
  readonly event: SdkStart & SdkStepStart & Partial<SdkToolEvent>;
  readonly result?: unknown;
  readonly error?: unknown;
}

/** What {@link followChannel} needs. */
export interface TelemetryChannelOptions {
  readonly operations: Operations;
  readonly telemetry: AiSdkTelemetry;
}

/**
 * Follows version 7's diagnostics channel, for calls that name integrations of their own in the place of the global ones.
 * Calls that the integration is told of are left to it. Does nothing where there are no such channels.
 *
 * @returns stops following
 */
export function followChannel(options: TelemetryChannelOptions): () => void {
  const diagnostics = globalThis.process?.getBuiltinModule?.('node:diagnostics_channel');
  const channel = diagnostics?.tracingChannel(channelName);
  return channel === undefined ? () => {} : new ChannelFollower(options).follow(channel);
}

class ChannelFollower {
  readonly #operations: Operations;
  readonly #telemetry: AiSdkTelemetry;
  /** Operations that have begun, and that the integration may not be told of. */
  readonly #beginnings: Map<string, SdkStart> = new Map();
  /** Operations that only the channel tells of. */
  readonly #followed: Set<string> = new Set();

  constructor({ operations, telemetry }: TelemetryChannelOptions) {
    this.#operations = operations;
    this.#telemetry = telemetry;
  }

  follow(channel: TracingChannel<unknown, object>): () => void {
    const storage = rolloutStorage();
    const none = (): void => {};
    const subscribers = {
      start: none,
      end: none,
      asyncStart: none,
      asyncEnd: (message: object) => this.#end(message as ChannelMessage),
      error: none,
    };
    channel.start.bindStore(storage, (message) => this.#begin(message as ChannelMessage) as RolloutContext);
    channel.subscribe(subscribers);
    return () => {
      channel.start.unbindStore(storage);
      channel.unsubscribe(subscribers);
    };
  }

  /** Gives the context that what the message tells of happens in. */
  #begin({ type, event }: ChannelMessage): RolloutContext | undefined {
    const around = currentRollout() ?? undefined;
    const { callId } = event;
    if (around === undefined || callId === undefined) return around;
    if (type === 'generateText' || type === 'streamText') this.#beginnings.set(callId, event);
    else if (this.#isFollowed(callId)) return this.#beginInside(type, callId, event) ?? around;
    return around;
  }

  #beginInside(type: string, id: string, event: ChannelMessage['event']): RolloutContext | null {
    const { steps } = this.#operations;
    if (type === 'step') {
      this.#telemetry.onStepStart(event);
      return null;
    }
    if (type === 'languageModelCall') {
      // Requests that are sent again are those of the same call.
      const call = this.#operations.modelCallOf(id);
      if (call === null) this.#telemetry.onLanguageModelCallStart(event);
      return steps.rolloutOf(this.#operations.modelCallOf(id)?.id ?? '');
    }
    if (type !== 'executeTool' || event.toolCall === undefined) return null;
    this.#telemetry.onToolExecutionStart({ ...event, toolCall: event.toolCall });
    return steps.rolloutOf(toolStepId(id, event.toolCall.toolCallId));
  }

  #end({ type, event, result, error }: ChannelMessage): void {
    const { callId } = event;
    if (callId === undefined) return;
    if (type === 'generateText' || type === 'streamText') {
      this.#beginnings.delete(callId);
      if (this.#followed.delete(callId)) this.#operations.end(callId, endOf(error));
    } else if (this.#followed.has(callId)) this.#endInside(type, callId, { event, result, error });
  }

  #endInside(type: string, id: string, { event, result, error }: Omit<ChannelMessage, 'type'>): void {
    if (type === 'step') this.#operations.endStep(id, endOf(error));
    else if (type === 'executeTool' && event.toolCall !== undefined) {
      const { output } = (result ?? {}) as { output?: SdkToolEvent['toolOutput'] };
      this.#operations.endTool(id, event.toolCall.toolCallId, output ?? { error });
    } else if (type === 'languageModelCall') this.#endModelRequest(id, result, error);
  }

  #endModelRequest(id: string, result: unknown, error: unknown): void {
    const call = this.#operations.modelCallOf(id);
    if (call === null) return;
    if (error !== undefined) this.#operations.requestFailed(call, error);
    else if (!gatherStream(result, this.#operations.streamReader(id, call))) {
      this.#operations.answerModelCall(id, (result ?? {}) as SdkAnswer);
    }
  }

  /** Whether only the channel tells of an operation, which shows when the first thing in it happens. */
  #isFollowed(id: string): boolean {
    const beginning = this.#beginnings.get(id);
    this.#beginnings.delete(id);
    if (beginning !== undefined && !this.#operations.has(id)) {
      this.#telemetry.onStart(beginning);
      if (this.#operations.has(id)) this.#followed.add(id);
    }
    return this.#followed.has(id) && this.#operations.has(id);
  }
}
