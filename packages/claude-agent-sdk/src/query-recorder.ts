import { setImmediate as nextTurn } from 'node:timers/promises';
import type { JsonObject, JsonValue, RolloutContext } from '@agentlightning/core';
import {
  AgentSteps,
  modelRequestAttributes,
  modelResponseAttributes,
  objectsOf,
  plainText,
  StreamedAnthropicMessage,
  textOf,
} from '@agentlightning/core/adapter';
import { isJsonObject } from '@agentlightning/core/internal';
import { genAiAttributes } from '@agentlightning/core/spans';
import { newSpanId } from '@agentlightning/core/store';

const steps = new AgentSteps({ framework: 'claude-agent-sdk' });

/** Maximum number of turns of the event loop that a tool waits for its call; then it runs within the agent. */
const maxTurns = 20;

/** The conversation of the main agent or of a subagent. */
interface Conversation {
  readonly agentStep: string;
  readonly messages: JsonObject[];
  call: OpenCall | null;
}

/** A model call in progress. */
interface OpenCall {
  readonly step: string;
  readonly streamed: StreamedAnthropicMessage;
  /** The content blocks, which arrive in one message each. */
  message: JsonObject | null;
}

/** Start of a query. */
export interface QueryStart {
  readonly agentName: string;
  readonly model: string;
  /** The instructions and a prompt that is a string. */
  readonly messages: readonly JsonObject[];
}

/** Records one query from its messages: agents, model calls and tool calls. */
export class QueryRecorder {
  readonly #id: string = newSpanId();
  readonly #start: QueryStart;
  /** Conversations by the id of the tool call that started them; the main one under the empty id. */
  readonly #conversations: Map<string, Conversation> = new Map();
  #error: string | undefined;

  constructor(start: QueryStart) {
    this.#start = start;
    steps.start({ id: this.#id, parentId: null, kind: 'agent', name: start.agentName });
    this.#conversations.set('', { agentStep: this.#id, messages: [...start.messages], call: null });
  }

  /** Context within the agent; null outside of a rollout. */
  get context(): RolloutContext | null {
    return steps.rolloutOf(this.#id);
  }

  /** Runs a tool within its call. Claude Code may start it before the caller has read the message with the call. */
  async withinTool(toolCallId: string, run: () => unknown): Promise<unknown> {
    const id = this.#stepId(toolCallId);
    for (let turns = 0; turns < maxTurns && !steps.has(id); turns += 1) await nextTurn();
    return steps.within(id, run);
  }

  /** Adds a prompt of a streaming input. */
  addPrompt(prompt: JsonObject): void {
    if (isJsonObject(prompt.message)) this.#conversationOf(prompt).messages.push(prompt.message);
  }

  /** Records a message of the query. */
  observe(message: JsonObject): void {
    const conversation = this.#conversationOf(message);
    const content = isJsonObject(message.message) ? message.message : {};
    if (message.subtype === 'status' && message.status === 'requesting') this.#openCall(conversation);
    else if (message.type === 'stream_event' && isJsonObject(message.event)) this.#add(conversation, message.event);
    else if (message.type === 'assistant') this.#addBlocks(conversation, content);
    else if (message.type === 'user') this.#addResults(conversation, content);
    else if (message.type === 'result') this.#error = message.is_error === true ? errorOf(message) : undefined;
  }

  /** Ends all open steps. */
  end(error: unknown, isAborted: boolean): void {
    const failure = error ?? this.#error;
    for (const [toolCallId, conversation] of this.#conversations) {
      // A call that is still open has no complete response.
      this.#endCall(conversation, failure, isAborted || failure === undefined);
      if (toolCallId !== '') steps.end(conversation.agentStep);
    }
    steps.end(this.#id, { error: failure, isAborted });
  }

  #stepId(toolCallId: string): string {
    return `${this.#id}:${toolCallId}`;
  }

  #conversationOf(message: JsonObject): Conversation {
    const toolCallId = textOf(message.parent_tool_use_id) ?? '';
    const known = this.#conversations.get(toolCallId);
    if (known !== undefined) return known;
    const agentStep = this.#stepId(`${toolCallId}:agent`);
    const name = textOf(message.subagent_type) ?? 'subagent';
    steps.start({ id: agentStep, parentId: this.#stepId(toolCallId), kind: 'agent', name });
    const conversation: Conversation = { agentStep, messages: [], call: null };
    this.#conversations.set(toolCallId, conversation);
    return conversation;
  }

  #openCall(conversation: Conversation): OpenCall {
    if (conversation.call !== null) return conversation.call;
    const step = this.#stepId(newSpanId());
    const call: OpenCall = { step, streamed: new StreamedAnthropicMessage(), message: null };
    conversation.call = call;
    const request = { model: this.#start.model, messages: [...conversation.messages] };
    steps.start({
      id: step,
      parentId: conversation.agentStep,
      kind: 'model-call',
      name: request.model,
      attributes: modelRequestAttributes(request),
      gathered: () => modelResponseAttributes(responseOf(call)),
    });
    return call;
  }

  #endCall(conversation: Conversation, error?: unknown, isAborted = false): void {
    const { call } = conversation;
    if (call === null) return;
    conversation.call = null;
    steps.end(call.step, { error, isAborted });
    const { role, content } = responseOf(call);
    if (content !== undefined) conversation.messages.push({ role: role ?? 'assistant', content });
  }

  #add(conversation: Conversation, event: JsonObject): void {
    const call = this.#openCall(conversation);
    call.streamed.add(event);
    // An interrupted response ends without a reason; the message with the error follows.
    if (event.type === 'message_stop' && textOf(responseOf(call).stop_reason) !== null) this.#endCall(conversation);
  }

  #addBlocks(conversation: Conversation, message: JsonObject): void {
    if (message.model === '<synthetic>') {
      this.#endCall(conversation, resultText(message.content));
      return;
    }
    // Responses of subagents have no stream events.
    if (conversation.agentStep !== this.#id) {
      const call = this.#openCall(conversation);
      call.message = {
        ...message,
        content: [...objectsOf(call.message?.content), ...objectsOf(message.content)],
      };
    }
    for (const { type, id, name, input } of objectsOf(message.content)) {
      if (type !== 'tool_use' || typeof id !== 'string' || typeof name !== 'string') continue;
      const attributes = { [genAiAttributes.toolCallId]: id, [genAiAttributes.toolCallArguments]: plainText(input) };
      steps.start({ id: this.#stepId(id), parentId: conversation.agentStep, kind: 'tool-call', name, attributes });
    }
  }

  #addResults(conversation: Conversation, message: JsonObject): void {
    const results = objectsOf(message.content).filter(({ type }) => type === 'tool_result');
    for (const { tool_use_id: id, content, is_error: isError } of results) {
      const result = resultText(content);
      const subagent = this.#conversations.get(String(id));
      if (subagent !== undefined) {
        this.#endCall(subagent);
        steps.end(subagent.agentStep);
      }
      const attributes = { [genAiAttributes.toolCallResult]: result };
      steps.end(this.#stepId(String(id)), { attributes, ...(isError === true ? { error: result } : {}) });
    }
    if (conversation.agentStep !== this.#id) this.#endCall(conversation);
    conversation.messages.push(message);
    if (conversation.agentStep !== this.#id) this.#openCall(conversation);
  }
}

function responseOf(call: OpenCall | null): JsonObject {
  if (call === null) return {};
  if (call.message !== null) return call.message;
  const body = call.streamed.toBody();
  return typeof body.id === 'string' ? body : {};
}

function resultText(content: JsonValue | undefined): string {
  const texts = objectsOf(content).map(({ text }) => text);
  return texts.length > 0 && texts.every((text) => typeof text === 'string')
    ? texts.join('')
    : plainText(content ?? '');
}

function errorOf({ result, errors, subtype }: JsonObject): string {
  return textOf(result) ?? (Array.isArray(errors) && errors.length > 0 ? errors.join('; ') : String(subtype));
}
