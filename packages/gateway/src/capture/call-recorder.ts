import type { Attributes, JsonObject, SpanInput } from '@agentlightning/core';
import { type CapturedAnswer, type SecretFields, untrainableReason } from '@agentlightning/core/internal';
import { modelCallToSpan } from '@agentlightning/core/spans';
import type { CallingAttempt } from '../calling-attempt.ts';
import { storeUnavailable } from '../gateway-error.ts';
import type { GatewayLog } from '../gateway-options.ts';
import type { RegisteredUpstream } from '../upstream/registered-upstream.ts';
import type { SpanWriter } from './span-writer.ts';

/** A call of an attempt, as far as it is known before it is sent. */
export interface StartedCall {
  readonly attempt: CallingAttempt;
  readonly spanId: string;
  readonly traceId: string;
  readonly parentId: string | null;
  readonly agentName: string | null;
  /** From the outermost agent to `agentName`; null when nobody said. */
  readonly agentPath: readonly string[] | null;
  /** The API that the agent spoke, such as `responses`. */
  readonly api: string;
  /** As the agent sent it; where its API was translated, as one of Chat Completions. */
  readonly request: JsonObject;
  /** JSON of `request`. */
  readonly requestText: string;
  /** What its record has beside what every record has. */
  readonly attributes: Attributes;
  /** Unix milliseconds. */
  readonly startTimeMs: number;
}

/** What was asked of the model. */
export interface AskedOfModel {
  readonly model: string;
  readonly isStreamed: boolean;
  /** Whether the upstream was asked for token ids, by the gateway or by the agent itself. */
  readonly asksForTokens: boolean;
  readonly temperature: number;
  readonly topP: number | null;
  readonly maxTokens: number | null;
  readonly seed: number | null;
}

/** What became of a call. */
export interface EndedCall {
  readonly asked: AskedOfModel;
  readonly answer: CapturedAnswer;
  /** The id of the answer, as the agent saw it; null when there is none. */
  readonly responseId: string | null;
  /** The body as the agent received it, or as it was before it was translated; null when there is none. */
  readonly response: JsonObject | null;
  /** JSON of `response`, where it is at hand. */
  readonly responseText?: string;
  /** When the first byte of the answer came, in Unix milliseconds; null when none came. */
  readonly firstByteTimeMs: number | null;
  /** Unix milliseconds. */
  readonly endTimeMs: number;
  /** The upstream's; null when it gave none. */
  readonly httpStatus: number | null;
  /** Why the answer is missing or broke off; null when it is whole. */
  readonly failure: string | null;
  /** Who answered; null when nobody did. */
  readonly upstream: RegisteredUpstream | null;
}

/** Headers that adapters send along with a call; they go no further than the gateway. */
export const callHeaders = {
  parentSpanId: 'x-agl-parent-span-id',
  /** Percent-encoded. */
  agentName: 'x-agl-agent-name',
  /** The agents at work, from the outermost on, each percent-encoded, joined by `>`. */
  agentPath: 'x-agl-agent-path',
  traceId: 'x-agl-trace-id',
  /** Of the answer: the span that records the call. */
  spanId: 'x-agl-span-id',
} as const;

/** The attribute of a call's span that names the endpoint that answered. */
export const endpointAttribute = 'agentlightning.endpoint';

/** Begins the record of a call. */
export function startCall(
  call: Pick<StartedCall, 'attempt' | 'spanId' | 'api' | 'request' | 'requestText' | 'attributes' | 'startTimeMs'>,
  headers: Headers,
): StartedCall {
  const traceId = headers.get(callHeaders.traceId);
  const parentId = headers.get(callHeaders.parentSpanId);
  return {
    ...call,
    ...callingAgent(headers),
    traceId: traceId !== null && /^[0-9a-f]{32}$/.test(traceId) ? traceId : call.attempt.traceId,
    parentId: parentId !== null && /^[0-9a-f]{16}$/.test(parentId) ? parentId : null,
  };
}

/** The agent that makes a call, as its headers tell. */
export function callingAgent(headers: Headers): Pick<StartedCall, 'agentName' | 'agentPath'> {
  return {
    agentName: decoded(headers.get(callHeaders.agentName)),
    agentPath: agentPathOf(headers.get(callHeaders.agentPath)),
  };
}

function agentPathOf(text: string | null): readonly string[] | null {
  return text === null ? null : text.split('>').map((name) => decoded(name) ?? name);
}

/** Adapters send names percent-encoded, since headers are ASCII; others may send them as they are. */
function decoded(name: string | null): string | null {
  try {
    return name === null ? null : decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** What calls are recorded with. */
export interface CallRecorderOptions {
  readonly writer: SpanWriter;
  readonly durability: 'before-response' | 'background';
  readonly log: GatewayLog;
  /** The fields of request and response bodies that are redacted in the record. */
  readonly secretFields: SecretFields;
  /** Told of every call, before it is recorded; with why it must not be trained on, null when it may be. */
  readonly onEnded: (started: StartedCall, ended: EndedCall, untrainable: string | null) => void;
}

/** Records calls as spans, as durably as the gateway was told to. */
export class CallRecorder {
  readonly #writer: SpanWriter;
  readonly #durability: 'before-response' | 'background';
  readonly #log: GatewayLog;
  readonly #secretFields: SecretFields;
  readonly #onEnded: CallRecorderOptions['onEnded'];

  constructor({ writer, durability, log, secretFields, onEnded }: CallRecorderOptions) {
    this.#writer = writer;
    this.#durability = durability;
    this.#log = log;
    this.#secretFields = secretFields;
    this.#onEnded = onEnded;
  }

  /** Records a call whose agent waits for it. @throws GatewayError 503 when the store does not take it */
  async record(started: StartedCall, ended: EndedCall): Promise<void> {
    const span = this.#toSpan(started, ended);
    // Nobody trains on a plain call, so its answer need not wait.
    if (this.#durability === 'background' || started.attempt.isPlain) return this.#writer.writeInBackground(span);
    try {
      await this.#writer.write(span);
    } catch (error) {
      throw storeUnavailable(error);
    }
  }

  /** Records a call that failed, or whose agent has gone: nobody could be told if the store did not take it. */
  recordFailed(started: StartedCall, ended: EndedCall): void {
    try {
      this.#writer.writeInBackground(this.#toSpan(started, ended));
    } catch (error) {
      // Told to nobody who waits, it would end the process.
      this.#log.error({ spanId: started.spanId, err: error }, 'a failed call could not be recorded');
    }
  }

  #toSpan(started: StartedCall, ended: EndedCall): SpanInput {
    const reason = ended.failure ?? untrainableReason(ended.answer);
    this.#onEnded(started, ended, reason);
    return toSpan(started, ended, { reason, secretFields: this.#secretFields });
  }
}

function toSpan(
  started: StartedCall,
  ended: EndedCall,
  { reason, secretFields }: { readonly reason: string | null; readonly secretFields: SecretFields },
): SpanInput {
  const { attempt, startTimeMs } = started;
  const { asked, answer, failure } = ended;
  const span = modelCallToSpan(
    {
      rolloutId: attempt.rolloutId,
      attemptId: attempt.attemptId,
      spanId: started.spanId,
      responseId: ended.responseId,
      model: asked.model,
      policyVersion: answer.policyVersion,
      agentName: started.agentName,
      agentPath: started.agentPath,
      promptTokenIds: answer.promptTokenIds,
      choices: answer.choices,
      temperature: asked.temperature,
      isTrainable: reason === null,
      untrainableReason: reason,
      request: started.request,
      response: ended.response,
      startTimeMs,
      endTimeMs: ended.endTimeMs,
    },
    {
      traceId: started.traceId,
      parentId: started.parentId,
      mode: attempt.mode,
      api: started.api,
      ...(answer.model === null ? {} : { responseModel: answer.model }),
      isStreamed: asked.isStreamed,
      isPartial: failure !== null,
      latencyMs: ended.endTimeMs - startTimeMs,
      ...(ended.firstByteTimeMs === null ? {} : { timeToFirstTokenMs: ended.firstByteTimeMs - startTimeMs }),
      ...(ended.httpStatus === null ? {} : { httpStatus: ended.httpStatus }),
      ...(answer.usage === null ? {} : { usage: answer.usage }),
      sampling: {
        ...(asked.topP === null ? {} : { topP: asked.topP }),
        ...(asked.maxTokens === null ? {} : { maxTokens: asked.maxTokens }),
        ...(asked.seed === null ? {} : { seed: asked.seed }),
      },
      responseTokens: answer.responseTokens,
      requestText: started.requestText,
      ...(ended.responseText === undefined ? {} : { responseText: ended.responseText }),
      secretFields,
      error: failure,
    },
  );
  const endpoint = ended.upstream === null ? {} : { [endpointAttribute]: ended.upstream.baseUrl };
  const attributes = { ...span.attributes, ...endpoint, ...started.attributes };
  return { ...span, attributes, resource: { attributes: { 'service.name': 'agentlightning-gateway' }, schemaUrl: '' } };
}
