import { instrumentOpenAIAgents } from '@agentlightning/openai-agents';
import { type ModelRequest, OpenAIChatCompletionsModel, setTraceProcessors, withTrace } from '@openai/agents';
import OpenAI from 'openai';
import type { FrameworkUnderTest } from '../framework-under-test.ts';
import { prompt } from '../instant-model.ts';

/** A model request of an agent's runner. */
const request: ModelRequest = {
  input: prompt,
  systemInstructions: 'Count.',
  modelSettings: {},
  tools: [],
  outputType: 'text',
  handoffs: [],
  tracing: true,
};

/** A model of the OpenAI Agents SDK. Its tracing is on, the default, and exports nothing. */
export function open(): Promise<FrameworkUnderTest> {
  setTraceProcessors([]);
  const client = new OpenAI({ baseURL: 'https://provider.invalid/v1', apiKey: 'key' });
  const model = new OpenAIChatCompletionsModel(client, 'tiny');
  return Promise.resolve({
    call: () => withTrace('count', async () => textOf(await model.getResponse(request))),
    instrument: () => instrumentOpenAIAgents(),
  });
}

function textOf({ output }: Awaited<ReturnType<OpenAIChatCompletionsModel['getResponse']>>): string {
  const [item] = output;
  const [part] = item?.type === 'message' && Array.isArray(item.content) ? item.content : [];
  return part?.type === 'output_text' ? part.text : '';
}
