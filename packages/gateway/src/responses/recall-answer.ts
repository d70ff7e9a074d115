import { AgentLightningError, type JsonObject, type Span, type Store } from '@agentlightning/core';
import { modelCallAttributes, modelCallFromSpan } from '@agentlightning/core/spans';
import { storeUnavailable } from '../gateway-error.ts';
import { objectsOf, textOf } from '../http/json-access.ts';
import { responseOf } from './response-body.ts';
import { responseId, spanIdOf } from './response-ids.ts';

/** An answer with all that was said before it. */
export interface RecalledAnswer {
  /** Earlier messages, in the form of chat. */
  readonly before: readonly JsonObject[];
  /** What comes after them, as items of Responses. */
  readonly items: readonly JsonObject[];
  /** The items of the answer. */
  readonly output: readonly JsonObject[];
}

/**
 * Looks an answer up in the record of its call.
 *
 * @param stem - what the ids of the answer have in common
 * @returns null when there is no such record, or it is not to be gone on with
 * @throws GatewayError 503 when the store cannot be used
 */
export async function recallAnswer(
  store: Pick<Store, 'querySpans'>,
  attempt: { readonly rolloutId: string; readonly attemptId: string },
  stem: string,
): Promise<RecalledAnswer | null> {
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

/** Instructions are those of one call. In its record they are at the beginning of the first system message. */
function withoutInstructions(messages: readonly JsonObject[], length: number): readonly JsonObject[] {
  const [first, ...rest] = messages;
  const content = textOf(first?.content);
  if (length === 0 || first === undefined || content === null) return messages;
  const others = content.slice(length).replace(/^\n\n/, '');
  return others === '' ? rest : [{ ...first, content: others }, ...rest];
}
