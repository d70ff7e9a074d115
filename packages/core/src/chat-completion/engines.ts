import data from './engines.json' with { type: 'json' };

/** The fields and routes of an engine beyond OpenAI's Chat Completions; `engines.schema.json` describes them. */
export interface EngineTerms {
  readonly name: string;
  readonly request: {
    readonly tokenIds: string;
    readonly logprobs: string;
    readonly promptTokenIds: string;
    readonly promptContainer: string | null;
  };
  readonly response: {
    readonly promptTokenIds: string;
    readonly tokenIds: readonly string[];
    readonly stop: string;
  };
  readonly streamsTokenIds: boolean;
  readonly routes: { readonly tokenize: string };
}

const { $schema: _, ...terms } = data;

/** The engines that return token ids; the gateway and the Python runtime have their terms from one file. */
export const engines: {
  readonly runtime: EngineTerms;
  readonly vllm: EngineTerms & { readonly routes: { readonly generate: string } };
  readonly sglang: EngineTerms;
} = terms;

const all: readonly EngineTerms[] = Object.values(engines);

/** The flag by which token ids are requested: the same at every engine. */
export const tokenIdFlag: string = engines.runtime.request.tokenIds;

/** The route that renders messages as token ids, next to `/v1`: the same at every engine. */
export const tokenizeRoute: string = engines.runtime.routes.tokenize;

/** The names of the sampled token ids of a choice. */
export const tokenIdFields: readonly string[] = unique(all.flatMap(({ response }) => response.tokenIds));

/** The names of the prompt's token ids in a response. */
export const promptTokenIdFields: readonly string[] = unique(all.map(({ response }) => response.promptTokenIds));

/** The names of the matched stop sequence of a choice. */
export const stopFields: readonly string[] = unique(all.map(({ response }) => response.stop));

/** The names of a chat request's prompt as token ids: in the request, or in a field of it. */
export const requestPromptFields: readonly { readonly container: string | null; readonly name: string }[] = all.map(
  ({ request }) => ({ container: request.promptContainer, name: request.promptTokenIds }),
);

function unique(names: readonly string[]): readonly string[] {
  return [...new Set(names)];
}
