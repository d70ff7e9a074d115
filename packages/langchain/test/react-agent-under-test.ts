import type { AdapterUnderTest } from '@agentlightning/core/contracts';
import { createReactAgent } from '@langchain/langgraph/prebuilt';
import type { ChatOpenAI } from '@langchain/openai';
import { langchainUnderTest } from './langchain-under-test.ts';

/** Agents created with LangGraph's `createReactAgent`, in the installed version. */
export function reactAgentUnderTest(
  name: string,
  cannot: AdapterUnderTest<ChatOpenAI>['cannot'] = {},
): AdapterUnderTest<ChatOpenAI> {
  return langchainUnderTest(
    `createReactAgent of ${name}`,
    ({ name: agentName, instructions, model, tools }) =>
      createReactAgent({ name: agentName, llm: model, tools: [...tools], prompt: instructions }),
    {
      'structured-output': 'createReactAgent makes a second model call for it, and the scene scripts only one',
      ...cannot,
    },
  );
}
