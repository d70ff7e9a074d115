import { AgentLightningError, type JsonObject, type Span, type Store } from '@agentlightning/core';
import { modelCallAttributes } from '@agentlightning/core/internal';
import { modelCallFromSpan } from '@agentlightning/core/spans';
import { storeUnavailable } from '../wire/gateway-error.ts';
import { objectsOf, textOf } from '../wire/json-access.ts';
import { responseOf } from './response-body.ts';
import { responseId, spanIdOf } from './response-ids.ts';

/** A response and the conversation before it. */
export interface RecalledResponse {
  /** Earlier chat messages. */
  readonly before: readonly JsonObject[];
  /** The Responses items that follow. */
  readonly items: readonly JsonObject[];
  /** The items of the response. */
  readonly output: readonly JsonObject[];
}

/**
 * Reads a response from the record of its call.
 *
 * @param stem - common stem of the response's ids
 * @returns null when it has no record, or cannot be continued
 * @throws GatewayError 503 when the store cannot be used
 */
export async function recallResponse(
  store: Pick<Store, 'querySpans'>,
  attempt: { readonly rolloutId: string; readonly attemptId: string },
  stem: string,
): Promise<RecalledResponse | null> {
  const { rolloutId, attemptId } = attempt;
  const spans = await querySpans(store, { rolloutId, attemptId, spanId: spanIdOf(stem) });
  for (const span of spans) {
    const call = modelCallFromSpan(span);
    const instructions = span.attributes[modelCallAttributes.instructionsLength];
    const isWhole = span.attributes[modelCallAttributes.isPartial] === false && call?.response != null;
    if (!isWhole || typeof instructions !== 'number' || call.responseId !== responseId(stem)) continue;
    const before = withoutInstructions(objectsOf(call.request?.messages), instructions);
    return { before, items: [], output: objectsOf(responseOf(call.response, { request: {}, stem }).output) };
  }
  return null;
}

async function querySpans(
  store: Pick<Store, 'querySpans'>,
  query: Parameters<Store['querySpans']>[0],
): Promise<readonly Span[]> {
  try {
    return (await store.querySpans(query)).items;
  } catch (error) {
    if (AgentLightningError.isInstance(error) && error.code === 'NOT_FOUND') return [];
    throw storeUnavailable(error);
  }
}

/** Removes the call's instructions, which start the first system message of its record. */
function withoutInstructions(messages: readonly JsonObject[], length: number): readonly JsonObject[] {
  const [first, ...rest] = messages;
  const content = textOf(first?.content);
  if (length === 0 || first === undefined || content === null) return messages;
  const others = content.slice(length).replace(/^\n\n/, '');
  return others === '' ? rest : [{ ...first, content: others }, ...rest];
}
