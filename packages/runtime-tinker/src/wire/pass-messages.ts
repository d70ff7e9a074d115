import { AgentLightningError } from '@agentlightning/core';
import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import * as z from 'zod';
import {
  type DatumSchema,
  DType,
  ForwardBackwardOutputSchema,
  ForwardBackwardRequestSchema,
} from '../gen/agentlightning/tinker/v1/tinker_pb.ts';
import { bytesOf, floatsOf, offsetsOf } from './numbers.ts';
import { type TinkerReply, unknownForm } from './server-refusal.ts';
import { readAs, readJson } from './tinker-http.ts';

/** A sequence to score or to train on. Its arrays speak of the tokens from the second on. */
export interface PassDatum {
  readonly tokenIds: Int32Array;
  /** Inputs of the loss by name, each with one number fewer than there are tokens. */
  readonly inputs: Readonly<Record<string, Float32Array>>;
}

/** A pass of a model. */
export interface PassRequest {
  readonly modelId: string;
  readonly sequence: number;
  readonly loss: 'cross_entropy' | 'importance_sampling';
  readonly isForwardOnly: boolean;
  readonly data: readonly PassDatum[];
}

/** A pass as a binary message, for servers of the SDK 0.25 and later. */
export function encodePass(pass: PassRequest): Uint8Array<ArrayBuffer> {
  const { modelId, sequence, loss, isForwardOnly, data } = pass;
  return toBinary(
    ForwardBackwardRequestSchema,
    create(ForwardBackwardRequestSchema, {
      modelId,
      seqId: sequence,
      lossFn: loss,
      forwardOnly: isForwardOnly,
      data: data.map(encodeDatum),
    }),
  );
}

function encodeDatum({ tokenIds, inputs }: PassDatum): MessageInitShape<typeof DatumSchema> {
  const targets = BigInt64Array.from(tokenIds.subarray(1), BigInt);
  const shape = [BigInt(targets.length)];
  const floats = Object.entries(inputs).map(
    ([name, values]) => [name, { dense: bytesOf(values), dtype: DType.FLOAT32, shape }] as const,
  );
  return {
    modelInput: [{ encodedText: { tokens: bytesOf(tokenIds.subarray(0, -1)) } }],
    lossFnInputs: {
      target_tokens: { dense: bytesOf(targets), dtype: DType.INT64, shape },
      ...Object.fromEntries(floats),
    },
  };
}

/** A pass as JSON, for servers of the SDK up to 0.24. */
export function passAsJson({ modelId, sequence, loss, isForwardOnly, data }: PassRequest): object {
  return {
    model_id: modelId,
    seq_id: sequence,
    [isForwardOnly ? 'forward_input' : 'forward_backward_input']: {
      loss_fn: loss,
      data: data.map(({ tokenIds, inputs }) => ({
        model_input: { chunks: [{ type: 'encoded_text', tokens: [...tokenIds.subarray(0, -1)] }] },
        loss_fn_inputs: Object.fromEntries(
          Object.entries({ target_tokens: tokenIds.subarray(1), ...inputs }).map(([name, values]) => [
            name,
            { data: [...values], dtype: name === 'target_tokens' ? 'int64' : 'float32', shape: [values.length] },
          ]),
        ),
      })),
    },
  };
}

const jsonOutput = z.looseObject({
  loss_fn_outputs: z.array(z.looseObject({ logprobs: z.looseObject({ data: z.array(z.number()) }) })),
});

/** The log-probabilities of all tokens from the second on, an array for each datum of a pass. */
export function readPass(reply: TinkerReply, data: readonly PassDatum[]): readonly Float32Array[] {
  const logprobs = reply.isBinary ? binaryLogprobs(reply.body) : jsonLogprobs(reply);
  for (const [index, { tokenIds }] of data.entries()) {
    const count = logprobs[index]?.length ?? 0;
    if (count === tokenIds.length - 1) continue;
    throw new AgentLightningError({
      code: 'RUNTIME_UNAVAILABLE',
      message: `The Tinker server returned ${count} log-probabilities for datum ${index}; ${tokenIds.length - 1} were expected`,
      remedy: 'Check the version of the server.',
    });
  }
  return logprobs;
}

function binaryLogprobs(body: Uint8Array): readonly Float32Array[] {
  return readBinary(ForwardBackwardOutputSchema, body, 'the result of a pass').lossFnOutputs.flatMap(({ fields }) => {
    const tensor = fields['logprobs'];
    if (tensor === undefined || tensor.dtype !== DType.FLOAT32) return [];
    const values = floatsOf(tensor.data);
    const bounds = offsetsOf(tensor.offsets).map((offset) => offset / Float32Array.BYTES_PER_ELEMENT);
    return bounds.slice(1).map((end, at) => values.slice(bounds[at], end));
  });
}

function jsonLogprobs(reply: TinkerReply): readonly Float32Array[] {
  const { loss_fn_outputs: outputs } = readAs(jsonOutput, readJson(reply), 'the result of a pass');
  return outputs.map(({ logprobs }) => Float32Array.from(logprobs.data));
}

/** A binary message of a response. @throws AgentLightningError for other bytes */
export function readBinary<TDescription extends DescMessage>(
  description: TDescription,
  body: Uint8Array,
  what: string,
): MessageShape<TDescription> {
  try {
    return fromBinary(description, body);
  } catch (cause) {
    throw unknownForm(what, cause);
  }
}
