import type { AdapterUnderTest } from '@agentlightning/core/contracts';
import type { ChatOpenAI } from '@langchain/openai';
import { createAgent, providerStrategy } from 'langchain';
import { langchainUnderTest } from './langchain-under-test.ts';

/** Agents created with LangChain's `createAgent`, in the installed version. */
export function createAgentUnderTest(
  name: string,
  cannot: AdapterUnderTest<ChatOpenAI>['cannot'] = {},
): AdapterUnderTest<ChatOpenAI> {
  return langchainUnderTest(
    `createAgent of ${name}`,
    ({ name: agentName, instructions, model, tools, output }) =>
      createAgent({
        name: agentName,
        model,
        tools: [...tools],
        systemPrompt: instructions,
        ...(output === null ? {} : { responseFormat: providerStrategy(output) }),
      }),
    cannot,
  );
}
