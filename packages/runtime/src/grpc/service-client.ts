import {
  create,
  type DescMessage,
  type DescMethod,
  type MessageInitShape,
  type MessageShape,
} from '@bufbuild/protobuf';
import type { GenService, GenServiceMethods } from '@bufbuild/protobuf/codegenv2';
import {
  type CallOptions,
  type Client,
  type ClientReadableStream,
  type ClientWritableStream,
  Metadata,
  type MethodDefinition,
  type ServiceError,
} from '@grpc/grpc-js';
import { toMethodDefinition } from './method-definition.ts';

/** An upload: messages are written to the stream; the response arrives when the server has decided. */
export interface UploadCall<TInput, TOutput> {
  readonly stream: ClientWritableStream<TInput>;
  /** Rejects with grpc-js's `ServiceError`. */
  readonly response: Promise<TOutput>;
}

/** One method of a client, by the kind of its method. */
export type ClientMethod<TMethod> = TMethod extends {
  readonly methodKind: infer TKind;
  readonly input: infer TInput extends DescMessage;
  readonly output: infer TOutput extends DescMessage;
}
  ? TKind extends 'unary'
    ? (request: MessageInitShape<TInput>, options?: CallOptions) => Promise<MessageShape<TOutput>>
    : TKind extends 'client_streaming'
      ? (options?: CallOptions) => UploadCall<MessageShape<TInput>, MessageShape<TOutput>>
      : TKind extends 'server_streaming'
        ? (request: MessageInitShape<TInput>, options?: CallOptions) => ClientReadableStream<MessageShape<TOutput>>
        : never
  : never;

/** A typed client of a service. */
export type ServiceClient<TMethods extends GenServiceMethods> = {
  readonly [TName in keyof TMethods]: ClientMethod<TMethods[TName]>;
};

/** Call options sent with every call. */
export interface ServiceClientOptions {
  readonly client: Client;
  /** Sent in the `authorization` metadata as a bearer token. */
  readonly apiKey?: string | undefined;
}

/**
 * A typed client of a generated service over a grpc-js connection.
 *
 * @param service - the generated descriptor, such as `TrainingService`
 */
export function createServiceClient<TMethods extends GenServiceMethods>(
  service: GenService<TMethods>,
  options: ServiceClientOptions,
): ServiceClient<TMethods> {
  const methods: Record<string, unknown> = {};
  for (const [name, method] of Object.entries<DescMethod>(service.method)) {
    methods[name] = clientMethod(method, options);
  }
  // The loop creates an entry for each method; the compiler cannot follow mapped types through it.
  return methods as ServiceClient<TMethods>;
}

function clientMethod(method: DescMethod, options: ServiceClientOptions): unknown {
  const definition = toMethodDefinition(method);
  const { client } = options;
  switch (method.methodKind) {
    case 'unary':
      return (request: MessageInitShape<DescMessage>, callOptions: CallOptions = {}) =>
        callUnary({ definition, client, metadata: metadata(options), callOptions }, create(method.input, request));
    case 'client_streaming':
      return (callOptions: CallOptions = {}) =>
        callUpload({ definition, client, metadata: metadata(options), callOptions });
    case 'server_streaming':
      return (request: MessageInitShape<DescMessage>, callOptions: CallOptions = {}) =>
        client.makeServerStreamRequest(
          definition.path,
          definition.requestSerialize,
          definition.responseDeserialize,
          create(method.input, request),
          metadata(options),
          callOptions,
        );
    case 'bidi_streaming':
      return undefined;
  }
}

type UnaryCallback<TOutput> = (error: ServiceError | null, value?: TOutput) => void;

interface Call<TInput, TOutput> {
  readonly definition: MethodDefinition<TInput, TOutput>;
  readonly client: Client;
  readonly metadata: Metadata;
  readonly callOptions: CallOptions;
}

function callUnary<TInput, TOutput>(call: Call<TInput, TOutput>, request: TInput): Promise<TOutput> {
  return new Promise((resolve, reject) => {
    call.client.makeUnaryRequest(
      call.definition.path,
      call.definition.requestSerialize,
      call.definition.responseDeserialize,
      request,
      call.metadata,
      call.callOptions,
      (error, value) => (error === null && value !== undefined ? resolve(value) : reject(error)),
    );
  });
}

function callUpload<TInput, TOutput>(call: Call<TInput, TOutput>): UploadCall<TInput, TOutput> {
  let settle: UnaryCallback<TOutput> = () => {};
  const response = new Promise<TOutput>((resolve, reject) => {
    settle = (error, value) => (error === null && value !== undefined ? resolve(value) : reject(error));
  });
  const stream = call.client.makeClientStreamRequest(
    call.definition.path,
    call.definition.requestSerialize,
    call.definition.responseDeserialize,
    call.metadata,
    call.callOptions,
    (error, value) => settle(error, value),
  );
  return { stream, response };
}

function metadata(options: ServiceClientOptions): Metadata {
  const result = new Metadata();
  if (options.apiKey !== undefined) result.set('authorization', `Bearer ${options.apiKey}`);
  return result;
}
