import { setImmediate as nextTurn } from 'node:timers/promises';
import type { JsonObject, RolloutContext } from '@agentlightning/core';
import { AgentSteps } from '@agentlightning/core/adapter';
import {
  type ConversationStart,
  ConversationSteps,
  contentText,
  isJsonObject,
  objectsOf,
  textOf,
} from '@agentlightning/core/internal';

const steps = new AgentSteps({ framework: 'claude-agent-sdk' });

/** Maximum number of turns of the event loop that a tool waits for its call; then it runs within the agent. */
const maxTurns = 20;

/** Records one query from its messages: agents, model calls and tool calls. */
export class QueryRecorder {
  readonly #main: ConversationSteps;
  /** By the id of the tool call that started them. */
  readonly #subagents: Map<string, ConversationSteps> = new Map();
  #error: string | undefined;

  constructor(start: ConversationStart) {
    this.#main = new ConversationSteps(steps, start);
  }

  /** Context within the agent; null outside of a rollout. */
  get context(): RolloutContext | null {
    return steps.rolloutOf(this.#main.id);
  }

  /** Runs a tool within its call. Claude Code may start it before the caller has read the message with the call. */
  async withinTool(toolCallId: string, run: () => unknown): Promise<unknown> {
    const id = this.#main.toolStepId(toolCallId);
    for (let turns = 0; turns < maxTurns && !steps.has(id); turns += 1) await nextTurn();
    return steps.within(id, run);
  }

  /** Adds a prompt of a streaming input. */
  addPrompt(prompt: JsonObject): void {
    if (isJsonObject(prompt.message)) this.#conversationOf(prompt).addMessage(prompt.message);
  }

  /** Records a message of the query. */
  observe(message: JsonObject): void {
    const conversation = this.#conversationOf(message);
    const content = isJsonObject(message.message) ? message.message : {};
    if (message.subtype === 'status' && message.status === 'requesting') conversation.startCall();
    else if (message.type === 'stream_event' && isJsonObject(message.event)) conversation.addEvent(message.event);
    else if (message.type === 'assistant') this.#addBlocks(conversation, content);
    else if (message.type === 'user') this.#addResults(conversation, content);
    else if (message.type === 'result') this.#error = message.is_error === true ? errorOf(message) : undefined;
  }

  /** Ends all open steps. */
  end(error: unknown, isAborted: boolean): void {
    const failure = error ?? this.#error;
    for (const conversation of [...this.#subagents.values(), this.#main]) {
      // A call that is still open has no complete response.
      conversation.endCall({ error: failure, isAborted: isAborted || failure === undefined });
      conversation.end(conversation === this.#main ? { error: failure, isAborted } : {});
    }
  }

  #conversationOf(message: JsonObject): ConversationSteps {
    const toolCallId = textOf(message.parent_tool_use_id);
    if (toolCallId === null) return this.#main;
    const known = this.#subagents.get(toolCallId);
    const conversation = known ?? this.#main.startSubagent(toolCallId, textOf(message.subagent_type) ?? 'subagent');
    this.#subagents.set(toolCallId, conversation);
    return conversation;
  }

  #addBlocks(conversation: ConversationSteps, message: JsonObject): void {
    if (message.model === '<synthetic>') {
      conversation.endCall({ error: contentText(message.content) });
      return;
    }
    // Responses of subagents have no stream events.
    if (conversation !== this.#main) conversation.addBlocks(message);
    conversation.startTools(message);
  }

  #addResults(conversation: ConversationSteps, message: JsonObject): void {
    for (const { tool_use_id: id } of objectsOf(message.content)) this.#subagents.get(String(id))?.end();
    const isSubagent = conversation !== this.#main;
    if (isSubagent) conversation.endCall();
    conversation.addMessage(message);
    if (isSubagent) conversation.startCall();
  }
}

function errorOf({ result, errors, subtype }: JsonObject): string {
  return textOf(result) ?? (Array.isArray(errors) && errors.length > 0 ? errors.join('; ') : String(subtype));
}
