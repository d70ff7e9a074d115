import type { Attributes, JsonObject, SpanInput } from '@agentlightning/core';
import {
  type CapturedResponse,
  modelCallAttributes,
  promptImages,
  type SecretFields,
  untrainableReason,
} from '@agentlightning/core/internal';
import { headerNames } from '@agentlightning/core/protocol';
import { modelCallToSpan, productionAttributes } from '@agentlightning/core/spans';
import { type CallingAttempt, callIndexAttribute, type ProductionCall } from '../attempts/calling-attempt.ts';
import { storeUnavailable } from '../wire/gateway-error.ts';
import type { GatewayLog } from '../wire/gateway-options.ts';
import type { ProductionRecords } from './production-records.ts';
import type { SpanWriter } from './span-writer.ts';

/** A call of an attempt before it is sent. */
export interface StartedCall {
  readonly attempt: CallingAttempt;
  readonly spanId: string;
  readonly traceId: string;
  readonly parentId: string | null;
  readonly agentName: string | null;
  /** From the outermost agent to `agentName`; null when the headers name none. */
  readonly agentPath: readonly string[] | null;
  /** The agent's API, such as `responses`. */
  readonly api: string;
  /** The agent's request; for a translated API, its Chat Completions request. */
  readonly request: JsonObject;
  /** JSON of `request`. */
  readonly requestText: string;
  /** Additional span attributes. */
  readonly attributes: Attributes;
  /** Unix milliseconds. */
  readonly startTimeMs: number;
}

/** The request to the upstream. */
export interface UpstreamParameters {
  readonly model: string;
  readonly isStreamed: boolean;
  /** Whether the request includes token ids, added by the gateway or by the agent. */
  readonly requestsTokens: boolean;
  readonly temperature: number;
  readonly topP: number | null;
  readonly maxTokens: number | null;
  readonly seed: number | null;
  /** Parameters by which the recorded log-probabilities differ from the policy's. */
  readonly alteredSampling: readonly string[];
}

/** A finished call. */
export interface EndedCall {
  readonly parameters: UpstreamParameters;
  /** What the upstream required to be changed in the request. */
  readonly changes: readonly string[];
  readonly captured: CapturedResponse;
  /** Response id as returned to the agent; null for none. */
  readonly responseId: string | null;
  /** The body returned to the agent, before any translation; null for none. */
  readonly response: JsonObject | null;
  /** JSON of `response`, if available. */
  readonly responseText?: string;
  /** Arrival of the first byte of a model's response, in Unix milliseconds; null for none. */
  readonly firstByteTimeMs: number | null;
  /** Unix milliseconds. */
  readonly endTimeMs: number;
  /** The upstream's request id; null for none. */
  readonly httpStatus: number | null;
  /** Why the response is missing or incomplete; null when it is complete. */
  readonly failure: string | null;
  /** The base URL of the responding upstream; null for none. */
  readonly endpoint: string | null;
  /** Whether the model of that upstream is trained on images. */
  readonly readsImages: boolean;
}

/** Span attribute of the responding endpoint. */
export const endpointAttribute = 'agentlightning.endpoint';

/** Starts the record of a call. */
export function startCall(
  call: Pick<StartedCall, 'attempt' | 'spanId' | 'api' | 'request' | 'requestText' | 'attributes' | 'startTimeMs'>,
  headers: Headers,
): StartedCall {
  const traceId = headers.get(headerNames.traceId);
  const parentId = headers.get(headerNames.parentSpanId);
  return {
    ...call,
    ...callingAgent(headers),
    traceId: traceId !== null && /^[0-9a-f]{32}$/.test(traceId) ? traceId : call.attempt.traceId,
    parentId: parentId !== null && /^[0-9a-f]{16}$/.test(parentId) ? parentId : null,
  };
}

/** The calling agent, by its headers. */
export function callingAgent(headers: Headers): Pick<StartedCall, 'agentName' | 'agentPath'> {
  return {
    agentName: decoded(headers.get(headerNames.agentName)),
    agentPath: agentPathOf(headers.get(headerNames.agentPath)),
  };
}

function agentPathOf(text: string | null): readonly string[] | null {
  return text === null ? null : text.split('>').map((name) => decoded(name) ?? name);
}

/** Adapters percent-encode names, since headers are ASCII; other clients may send them raw. */
function decoded(name: string | null): string | null {
  try {
    return name === null ? null : decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** Dependencies of a call recorder. */
export interface CallRecorderOptions {
  readonly writer: SpanWriter;
  readonly production: ProductionRecords;
  readonly durability: 'before-response' | 'background';
  readonly log: GatewayLog;
  /** The fields of request and response bodies that are redacted in the record. */
  readonly secretFields: SecretFields;
  /** Called before each call is recorded; `untrainable` is the reason, or null for a trainable call. */
  readonly onEnded: (started: StartedCall, ended: EndedCall, untrainable: string | null) => void;
}

/** Records calls as spans, with the configured durability. */
export class CallRecorder {
  readonly #writer: SpanWriter;
  readonly #production: ProductionRecords;
  readonly #durability: 'before-response' | 'background';
  readonly #log: GatewayLog;
  readonly #secretFields: SecretFields;
  readonly #onEnded: CallRecorderOptions['onEnded'];

  constructor({ writer, production, durability, log, secretFields, onEnded }: CallRecorderOptions) {
    this.#writer = writer;
    this.#production = production;
    this.#durability = durability;
    this.#log = log;
    this.#secretFields = secretFields;
    this.#onEnded = onEnded;
  }

  /** Records a call whose response waits for it. @throws GatewayError 503 when the store rejects it */
  async record(started: StartedCall, ended: EndedCall): Promise<void> {
    const span = this.#toSpan(started, ended);
    const { production } = started.attempt;
    if (production !== null) return this.#production.append(production.deployment, span);
    // Plain calls are not training data, so their responses do not wait.
    if (this.#durability === 'background' || started.attempt.isUnattributed)
      return this.#writer.writeInBackground(span);
    try {
      await this.#writer.write(span);
    } catch (error) {
      throw storeUnavailable(error);
    }
  }

  /** Records a failed or aborted call. Store failures are logged: there is no response to carry them. */
  recordFailed(started: StartedCall, ended: EndedCall): void {
    try {
      const span = this.#toSpan(started, ended);
      const { production } = started.attempt;
      const record = (): void =>
        production === null
          ? this.#writer.writeInBackground(span)
          : this.#production.append(production.deployment, span);
      const defer = ended.firstByteTimeMs === null ? (production?.deferFailure ?? null) : null;
      if (defer === null) record();
      else defer(record);
    } catch (error) {
      // Unhandled, the rejection would terminate the process.
      this.#log.error({ spanId: started.spanId, err: error }, 'a failed call could not be recorded');
    }
  }

  #toSpan(started: StartedCall, ended: EndedCall): SpanInput {
    const reason = ended.failure ?? untrainableReason(ended.captured, started.request, ended.readsImages);
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
  const { parameters, captured, failure } = ended;
  const span = modelCallToSpan(
    {
      rolloutId: attempt.rolloutId,
      attemptId: attempt.attemptId,
      spanId: started.spanId,
      responseId: ended.responseId,
      model: parameters.model,
      ...(captured.model === null ? {} : { responseModel: captured.model }),
      policyVersion: captured.policyVersion,
      agentName: started.agentName,
      agentPath: started.agentPath,
      promptTokenIds: captured.promptTokenIds,
      imageCount: promptImages(started.request).length,
      choices: captured.choices,
      temperature: parameters.temperature,
      isTrainable: reason === null,
      untrainableReason: reason,
      alteredSampling: parameters.alteredSampling,
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
      isStreamed: parameters.isStreamed,
      isPartial: failure !== null,
      latencyMs: ended.endTimeMs - startTimeMs,
      ...(ended.firstByteTimeMs === null ? {} : { timeToFirstTokenMs: ended.firstByteTimeMs - startTimeMs }),
      ...(ended.httpStatus === null ? {} : { httpStatus: ended.httpStatus }),
      ...(captured.usage === null ? {} : { usage: captured.usage }),
      sampling: {
        ...(parameters.topP === null ? {} : { topP: parameters.topP }),
        ...(parameters.maxTokens === null ? {} : { maxTokens: parameters.maxTokens }),
        ...(parameters.seed === null ? {} : { seed: parameters.seed }),
      },
      responseTokens: captured.responseTokens,
      requestText: started.requestText,
      ...(ended.responseText === undefined ? {} : { responseText: ended.responseText }),
      secretFields,
      error: failure,
    },
  );
  const endpoint = ended.endpoint === null ? {} : { [endpointAttribute]: ended.endpoint };
  const index = ended.firstByteTimeMs === null ? {} : { [callIndexAttribute]: attempt.callIndex };
  const attributes = {
    ...span.attributes,
    ...endpoint,
    ...index,
    ...(attempt.production === null ? {} : productionAttributesOf(attempt.production)),
    ...started.attributes,
    ...changesOf(started, ended),
  };
  return { ...span, attributes, resource: { attributes: { 'service.name': 'agentlightning-gateway' }, schemaUrl: '' } };
}

function productionAttributesOf({ version, trial, user, conversation, fallback }: ProductionCall): Attributes {
  return {
    [productionAttributes.version]: version,
    ...(trial === null ? {} : { [productionAttributes.trial]: trial }),
    ...(user === null ? {} : { [productionAttributes.user]: user }),
    ...(conversation === null ? {} : { [productionAttributes.conversation]: conversation }),
    ...(fallback === null
      ? {}
      : {
          [productionAttributes.fallbackFrom]: fallback.from,
          [productionAttributes.fallbackReason]: fallback.reason,
        }),
  };
}

function changesOf({ attributes }: StartedCall, { changes }: EndedCall): Attributes {
  const known = attributes[modelCallAttributes.requestChanges];
  if (changes.length === 0) return {};
  const translated = Array.isArray(known) ? known.map(String) : [];
  return { [modelCallAttributes.requestChanges]: [...translated, ...changes] };
}
