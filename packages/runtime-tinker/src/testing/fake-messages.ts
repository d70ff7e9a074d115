import { AgentLightningError } from '@agentlightning/core';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import {
  DType,
  ForwardBackwardOutputSchema,
  ForwardBackwardRequestSchema,
  SampleResponseSchema,
  StopReason,
  type Tensor,
} from '../gen/agentlightning/tinker/v1/tinker_pb.ts';
import { bytesOf, floatsOf, int32sOf, offsetsOf } from '../wire/numbers.ts';
import type { PassDatum } from '../wire/pass-messages.ts';
import type { SampledSequence } from '../wire/sample-messages.ts';

/** A pass as the fake server reads it. */
export interface ReceivedPass {
  readonly modelId: string;
  readonly sequence: number;
  readonly loss: string;
  readonly isForwardOnly: boolean;
  readonly data: readonly PassDatum[];
}

/** Reads a binary pass. */
export function readBinaryPass(body: Uint8Array): ReceivedPass {
  const { modelId, seqId, lossFn, forwardOnly, data } = fromBinary(ForwardBackwardRequestSchema, body);
  return {
    modelId,
    sequence: seqId,
    loss: lossFn,
    isForwardOnly: forwardOnly,
    data: data.map(({ modelInput, lossFnInputs }) => {
      const { target_tokens: targets, ...inputs } = lossFnInputs;
      const read = modelInput.flatMap(({ encodedText }) => [...int32sOf(encodedText?.tokens ?? new Uint8Array())]);
      return {
        tokenIds: joined(read, targets === undefined ? [] : offsetsOf(targets.dense)),
        inputs: Object.fromEntries(Object.entries(inputs).map(([name, tensor]) => [name, numbersOf(tensor)])),
      };
    }),
  };
}

function invalid(message: string): AgentLightningError {
  return new AgentLightningError({ code: 'VALIDATION', message });
}

function numbersOf({ dense, dtype }: Tensor): Float32Array {
  if (dtype !== DType.FLOAT32) throw invalid(`A tensor has the type ${dtype}; float32 was expected`);
  return floatsOf(dense);
}

interface JsonTensor {
  readonly data: readonly number[];
}

/** The JSON of a pass. */
export interface JsonPass {
  readonly model_id: string;
  readonly seq_id: number;
  readonly forward_input?: JsonPassInput;
  readonly forward_backward_input?: JsonPassInput;
}

interface JsonPassInput {
  readonly loss_fn: string;
  readonly data: readonly {
    readonly model_input: { readonly chunks: readonly { readonly tokens: readonly number[] }[] };
    readonly loss_fn_inputs: Readonly<Record<string, JsonTensor>>;
  }[];
}

/** Reads a pass of the JSON dialect. */
export function readJsonPass(pass: JsonPass): ReceivedPass {
  const input = pass.forward_input ?? pass.forward_backward_input;
  return {
    modelId: pass.model_id,
    sequence: pass.seq_id,
    loss: input?.loss_fn ?? '',
    isForwardOnly: pass.forward_input !== undefined,
    data: (input?.data ?? []).map(({ model_input: text, loss_fn_inputs: tensors }) => {
      const { target_tokens: targets, ...inputs } = tensors;
      const floats = Object.entries(inputs).map(([name, { data }]) => [name, Float32Array.from(data)] as const);
      const read = text.chunks.flatMap(({ tokens }) => tokens);
      return { tokenIds: joined(read, targets?.data ?? []), inputs: Object.fromEntries(floats) };
    }),
  };
}

/** The whole text of what is read and what is predicted, which must be the same text shifted by one. */
function joined(read: readonly number[], targets: readonly number[]): Int32Array {
  const isShifted = read.length === targets.length && read.slice(1).every((token, at) => token === targets[at]);
  if (!isShifted) throw invalid('target_tokens are not the model input shifted by one');
  return Int32Array.from([...read.slice(0, 1), ...targets]);
}

/** The result of a pass as a binary message. */
export function binaryOutput(logprobs: readonly Float32Array[]): Uint8Array<ArrayBuffer> {
  const ends = logprobs.map((_, at) =>
    logprobs.slice(0, at + 1).reduce((sum, { byteLength }) => sum + BigInt(byteLength), 0n),
  );
  const all = Float32Array.from(logprobs.flatMap((array) => [...array]));
  const tensor = { data: bytesOf(all), offsets: bytesOf(BigInt64Array.from([0n, ...ends])), dtype: DType.FLOAT32 };
  return toBinary(
    ForwardBackwardOutputSchema,
    create(ForwardBackwardOutputSchema, {
      lossFnOutputs: [{ fields: { logprobs: tensor }, numDatums: BigInt(logprobs.length) }],
    }),
  );
}

/** The result of a pass in the JSON dialect. */
export function jsonOutput(logprobs: readonly Float32Array[]): object {
  return {
    loss_fn_output_type: 'scalar',
    metrics: {},
    loss_fn_outputs: logprobs.map((array) => ({
      logprobs: { data: [...array], dtype: 'float32', shape: [array.length] },
    })),
  };
}

/** Samples as a binary message. */
export function binarySamples(samples: readonly SampledSequence[]): Uint8Array<ArrayBuffer> {
  return toBinary(
    SampleResponseSchema,
    create(SampleResponseSchema, {
      sequences: samples.map(({ tokens, logprobs, stopReason }) => ({
        tokens: bytesOf(Int32Array.from(tokens)),
        logprobs: bytesOf(Float32Array.from(logprobs)),
        stopReason: stopReason === 'stop' ? StopReason.STOP : StopReason.LENGTH,
      })),
    }),
  );
}
