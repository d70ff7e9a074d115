import type { JsonObject, JsonValue } from '../base/json.ts';
import { isObject } from '../base/json-access.ts';

/** Whether the value of a request parameter changes the distribution that tokens are sampled from. */
type Alters = (value: JsonValue) => boolean;

const isNot =
  (neutral: number): Alters =>
  (value) =>
    typeof value === 'number' && value !== neutral;

const isPositive: Alters = (value) => typeof value === 'number' && value > 0;

const isGiven: Alters = (value) =>
  Array.isArray(value) || isObject(value) ? Object.keys(value).length > 0 : value !== false && value !== '';

const isConstrained: Alters = (value) => isObject(value) && value.type !== 'text';

const isForced: Alters = (value) => value === 'required' || isObject(value);

/** Parameters of OpenAI, vLLM and SGLang. The temperature is not one of them: it is recorded with each call. */
const parameters: Readonly<Record<string, Alters>> = {
  top_p: (value) => typeof value === 'number' && value < 1,
  top_k: isPositive,
  min_p: isPositive,
  typical_p: (value) => typeof value === 'number' && value < 1,
  frequency_penalty: isNot(0),
  presence_penalty: isNot(0),
  repetition_penalty: isNot(1),
  logit_bias: isGiven,
  min_tokens: isPositive,
  bad_words: isGiven,
  allowed_token_ids: isGiven,
  use_beam_search: isGiven,
  response_format: isConstrained,
  tool_choice: isForced,
  structured_outputs: isGiven,
  guided_json: isGiven,
  guided_regex: isGiven,
  guided_choice: isGiven,
  guided_grammar: isGiven,
  regex: isGiven,
  ebnf: isGiven,
  json_schema: isGiven,
};

/**
 * The parameters of a Chat Completions request by which an engine samples from another distribution than the model's: the
 * recorded log-probabilities are then not those of the tokens' choice, or not those that the trainer computes.
 */
export function alteredSampling(request: JsonObject): readonly string[] {
  return Object.entries(parameters).flatMap(([name, alters]) => {
    const value = request[name];
    return value === undefined || value === null || !alters(value) ? [] : [name];
  });
}
