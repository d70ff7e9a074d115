import { instrumentLangChain } from '@agentlightning/langchain';
import { BaseCallbackHandler } from '@langchain/core/callbacks/base';
import { CallbackManager } from '@langchain/core/callbacks/manager';
import { ChatOpenAI } from '@langchain/openai';
import type { FrameworkUnderTest } from '../framework-under-test.ts';
import { prompt } from '../instant-model.ts';

/** Receives the same callbacks as the adapter, and does nothing. */
class IdleHandler extends BaseCallbackHandler {
  readonly name: string = 'idle';

  override handleChatModelStart(): void {}

  override handleLLMEnd(): void {}
}

/** A chat model of LangChain. */
export function open(): Promise<FrameworkUnderTest> {
  const model = new ChatOpenAI({
    model: 'tiny',
    apiKey: 'key',
    configuration: { baseURL: 'https://provider.invalid/v1' },
  });
  return Promise.resolve({
    call: async () => (await model.invoke(prompt)).text,
    instrument: () => instrumentLangChain(),
    listen: () => {
      const before = CallbackManager._configureSync;
      const idle = new IdleHandler({ _awaitHandler: true });
      CallbackManager._configureSync = function (inherited, ...rest) {
        return before.call(this, inherited ?? [idle], ...rest);
      };
      return () => {
        CallbackManager._configureSync = before;
      };
    },
  });
}
