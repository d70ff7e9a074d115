import type { JsonObject, JsonValue } from '@agentlightning/core';
import { badRequest, notTranslatable } from '../model-api/bad-request.ts';
import { joinedSystem } from '../model-api/content-parts.ts';
import { decodeReasoning } from '../model-api/opaque-reasoning.ts';
import type { Conversation } from '../model-api/translation.ts';
import { objectsOf, textOf } from '../wire/json-access.ts';
import { AssistantTurn } from './assistant-turn.ts';
import { chatContent } from './chat-content.ts';
import { stemOf } from './response-ids.ts';
import { additionalToolsType, isServerTool } from './tools.ts';

/**
 * Converts the items of a Responses request to chat messages.
 *
 * Items of one response become one message again, also when results of its calls stand between them. Instructions and
 * the system messages at the beginning become one.
 *
 * @param instructions - null for none
 * @param changes - receives the items of tools that run at OpenAI, which become text
 * @throws GatewayError 400 for items of other built-in tools, and for outputs without a call
 */
export function chatMessages(
  { before, items }: Conversation,
  instructions: string | null,
  changes: string[] = [],
): readonly JsonObject[] {
  const turns = new ChatMessageBuilder(changes);
  for (const [index, item] of items.entries()) turns.add(item, `input[${index}]`);
  const system = instructions === null || instructions === '' ? [] : [{ role: 'system', content: instructions }];
  return joinedSystem([...system, ...before, ...turns.messages()]);
}

/** Builds chat messages from items. */
class ChatMessageBuilder {
  readonly #entries: (JsonObject | AssistantTurn)[] = [];
  readonly #changes: string[];
  /** The open turn, followed by its results. */
  #turn: AssistantTurn | null = null;
  /** Whether the open turn has results. */
  #hasResults = false;

  constructor(changes: string[]) {
    this.#changes = changes;
  }

  add(item: JsonObject, path: string): void {
    const type = textOf(item.type) ?? 'message';
    // Its tools are among those of the request.
    if (type === additionalToolsType) return;
    if (type === 'message') this.#addMessage(item, path);
    else if (type === 'reasoning') this.#turnFor(item, 'reasoning').addReasoning(reasoningText(item));
    else if (type === 'function_call' || type === 'custom_tool_call') this.#turnFor(item, 'call').addCall(item);
    else if (type === 'function_call_output' || type === 'custom_tool_call_output') this.#addResult(item, path);
    else if (isServerTool(type)) this.#addServerItem(item, type, path);
    else throw notTranslatable(`${path}.type`, `an item of the type \`${type}\``);
  }

  messages(): readonly JsonObject[] {
    return this.#entries.map((entry) => (entry instanceof AssistantTurn ? entry.toMessage() : entry));
  }

  #addMessage(item: JsonObject, path: string): void {
    const { role } = item;
    if (role === 'assistant') {
      this.#turnFor(item, 'text').addMessage(item);
      return;
    }
    if (role !== 'user' && role !== 'system' && role !== 'developer') {
      throw badRequest(`${path}.role`, `${path}.role: ${JSON.stringify(role ?? null)} is not a message role`);
    }
    this.#turn = null;
    // The templates of open models lack the developer role.
    const chatRole = role === 'user' ? 'user' : 'system';
    this.#entries.push({ role: chatRole, content: chatContent(item.content, `${path}.content`) });
  }

  #addResult(item: JsonObject, path: string): void {
    const id = textOf(item.call_id);
    if (id === null || id === '') throw badRequest(`${path}.call_id`, `${path}.call_id is missing`);
    this.#hasResults = true;
    this.#entries.push({ role: 'tool', tool_call_id: id, content: chatContent(item.output, `${path}.output`) });
  }

  /** An item of a tool that runs at OpenAI, as text of the assistant. */
  #addServerItem({ id: _, status: __, ...item }: JsonObject, type: string, path: string): void {
    this.#changes.push(`${path}: ${type} as text`);
    this.#turnFor({}, 'text').addMessage({ content: JSON.stringify(item) });
  }

  /** The turn of an assistant item: the open one, or a new one. */
  #turnFor(item: JsonObject, kind: 'reasoning' | 'text' | 'call'): AssistantTurn {
    const stem = stemOf(textOf(item.id));
    const isSameResponse = stem !== null && stem === this.#turn?.stem;
    const continues = isSameResponse || (!this.#hasResults && this.#turn?.takes(kind, stem) === true);
    if (this.#turn !== null && continues) return this.#turn;
    const turn = new AssistantTurn(stem);
    this.#turn = turn;
    this.#hasResults = false;
    this.#entries.push(turn);
    return turn;
  }
}

/** The text of a reasoning item: the original if present, else its summary. */
function reasoningText(item: JsonObject): string {
  const unsealed = decodeReasoning(textOf(item.encrypted_content));
  if (unsealed !== null) return unsealed;
  const content = textsOf(item.content);
  return (content.length > 0 ? content : textsOf(item.summary)).join('\n');
}

function textsOf(parts: JsonValue | undefined): readonly string[] {
  return objectsOf(parts).map((part) => textOf(part.text) ?? '');
}
