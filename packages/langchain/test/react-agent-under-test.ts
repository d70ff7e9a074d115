import type { AdapterUnderTest } from '@agentlightning/core/contracts';
import { createReactAgent } from '@langchain/langgraph/prebuilt';
import type { ChatOpenAI } from '@langchain/openai';
import { langchainUnderTest } from './langchain-under-test.ts';

/** Agents as LangGraph makes them, of whatever version is installed. */
export function reactAgentUnderTest(
  name: string,
  cannot: AdapterUnderTest<ChatOpenAI>['cannot'] = {},
): AdapterUnderTest<ChatOpenAI> {
  return langchainUnderTest(
    `createReactAgent of ${name}`,
    ({ name: agentName, instructions, model, tools }) =>
      createReactAgent({ name: agentName, llm: model, tools: [...tools], prompt: instructions }),
    {
      'structured-output': 'createReactAgent asks the model a second time for it, and the scene has one answer',
      ...cannot,
    },
  );
}
