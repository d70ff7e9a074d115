import { newSpanId } from '../base/id.ts';
import type { JsonObject, JsonValue } from '../base/json.ts';
import { objectsOf, textOf } from '../base/json-access.ts';
import { plainText } from '../spans/unknown-value.ts';
import type { AgentStepEnd } from './agent-step.ts';
import type { AgentSteps } from './agent-steps.ts';
import { modelRequestAttributes, modelResponseAttributes } from './responses/model-call-attributes.ts';
import { StreamedAnthropicMessage } from './responses/streamed-anthropic-message.ts';
import { toolCallAttributes } from './responses/tool-call-attributes.ts';

/** Start of a {@link ConversationSteps}. */
export interface ConversationStart {
  readonly agentName: string;
  readonly model: string;
  /** Instructions and the first prompt. @default none */
  readonly messages?: readonly JsonObject[];
  /** The tool call that runs the agent, and the conversation with it. @default an outermost agent */
  readonly caller?: { readonly conversation: ConversationSteps; readonly toolCallId: string };
}

/** A model call in progress. */
interface OpenCall {
  readonly stepId: string;
  readonly streamed: StreamedAnthropicMessage;
  /** The response, where the framework reports its content blocks instead of stream events. */
  blocks: JsonObject | null;
}

/**
 * Records the steps of one agent whose framework reports a conversation in the format of Anthropic's Messages API, and no
 * requests: the agent, its tool calls, and its model calls, of which each has the messages before it as input.
 *
 * @example
 * ```ts
 * const conversation = new ConversationSteps(steps, { agentName: 'clerk', model: 'tiny' });
 * conversation.addMessage({ role: 'user', content: 'What is a pear?' });
 * for (const event of events) conversation.addEvent(event);
 * conversation.end();
 * ```
 */
export class ConversationSteps {
  /** Id of the agent's step. */
  readonly id: string = newSpanId();
  readonly #steps: AgentSteps;
  readonly #model: string;
  readonly #messages: JsonObject[];
  /** The conversation of the outermost agent. */
  readonly #outermost: ConversationSteps;
  #call: OpenCall | null = null;

  constructor(steps: AgentSteps, { agentName, model, messages = [], caller }: ConversationStart) {
    this.#steps = steps;
    this.#model = model;
    this.#messages = [...messages];
    this.#outermost = caller === undefined ? this : caller.conversation.#outermost;
    const parentId = caller === undefined ? null : this.toolStepId(caller.toolCallId);
    steps.start({ id: this.id, parentId, kind: 'agent', name: agentName });
  }

  /** Starts the conversation of an agent that a tool call runs, with the same model. */
  startSubagent(toolCallId: string, agentName: string): ConversationSteps {
    const caller = { conversation: this, toolCallId };
    return new ConversationSteps(this.#steps, { agentName, model: this.#model, caller });
  }

  /** Step id of a tool call of this agent or its subagents. The model's ids are unique only within a run. */
  toolStepId(toolCallId: string): string {
    return `${this.#outermost.id}:${toolCallId}`;
  }

  /** Adds a message to the model: a prompt, or tool results, which end their tool calls. */
  addMessage(message: JsonObject): void {
    this.#messages.push(message);
    for (const { type, tool_use_id: toolCallId, content, is_error: isError } of objectsOf(message.content)) {
      if (type !== 'tool_result' || typeof toolCallId !== 'string') continue;
      const output = contentText(content);
      const error = isError === true ? output : undefined;
      this.#steps.end(this.toolStepId(toolCallId), { attributes: toolCallAttributes({ output }), error });
    }
  }

  /** Starts a model call, unless one is in progress. */
  startCall(): void {
    this.#openCall();
  }

  /** Adds a stream event of a response; the last one ends the call. */
  addEvent(event: JsonObject): void {
    const call = this.#openCall();
    call.streamed.add(event);
    // An interrupted response ends without a reason; its error follows.
    if (event.type === 'message_stop' && textOf(responseOf(call).stop_reason) !== null) this.endCall();
  }

  /** Starts the tool calls in the content blocks of a response. */
  startTools(message: JsonObject): void {
    for (const { type, id, name, input } of objectsOf(message.content)) {
      if (type !== 'tool_use' || typeof id !== 'string' || typeof name !== 'string') continue;
      const attributes = toolCallAttributes({ id, input });
      this.#steps.start({ id: this.toolStepId(id), parentId: this.id, kind: 'tool-call', name, attributes });
    }
  }

  /** Adds content blocks of a response that has no stream events. */
  addBlocks(message: JsonObject): void {
    const call = this.#openCall();
    const content = [...objectsOf(call.blocks?.content), ...objectsOf(message.content)];
    call.blocks = { ...message, content };
  }

  /** Ends the model call in progress, if any, and adds its response to the messages. */
  endCall(end: AgentStepEnd = {}): void {
    const call = this.#call;
    if (call === null) return;
    this.#call = null;
    this.#steps.end(call.stepId, end);
    const { role, content } = responseOf(call);
    if (content !== undefined) this.#messages.push({ role: role ?? 'assistant', content });
  }

  /** Ends the agent. A model call in progress ends first. */
  end(end: AgentStepEnd = {}): void {
    this.endCall(end);
    this.#steps.end(this.id, end);
  }

  #openCall(): OpenCall {
    if (this.#call !== null) return this.#call;
    const call: OpenCall = { stepId: newSpanId(), streamed: new StreamedAnthropicMessage(), blocks: null };
    this.#call = call;
    this.#steps.start({
      id: call.stepId,
      parentId: this.id,
      kind: 'model-call',
      name: this.#model,
      attributes: modelRequestAttributes({ model: this.#model, messages: [...this.#messages] }),
      gathered: () => modelResponseAttributes(responseOf(call)),
    });
    return call;
  }
}

function responseOf({ blocks, streamed }: OpenCall): JsonObject {
  if (blocks !== null) return blocks;
  const body = streamed.toBody();
  return typeof body.id === 'string' ? body : {};
}

/** The text of content blocks; JSON where a block has none. */
export function contentText(content: JsonValue | undefined): string {
  const texts = objectsOf(content).map(({ text }) => text);
  return texts.length > 0 && texts.every((text) => typeof text === 'string')
    ? texts.join('')
    : plainText(content ?? '');
}
