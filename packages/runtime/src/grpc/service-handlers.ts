import { type EventEmitter, once } from 'node:events';
import {
  create,
  type DescMessage,
  type DescMethod,
  type MessageInitShape,
  type MessageShape,
} from '@bufbuild/protobuf';
import type { GenService, GenServiceMethods } from '@bufbuild/protobuf/codegenv2';
import {
  type handleBidiStreamingCall,
  type handleClientStreamingCall,
  type handleServerStreamingCall,
  type handleUnaryCall,
  Metadata,
  type ServerDuplexStream,
  type ServerErrorResponse,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceDefinition,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { toMethodDefinition } from './method-definition.ts';

/** The server's side of one method, by the kind of its method. */
export type Handler<TMethod> = TMethod extends {
  readonly methodKind: infer TKind;
  readonly input: infer TInput extends DescMessage;
  readonly output: infer TOutput extends DescMessage;
}
  ? TKind extends 'unary'
    ? (request: MessageShape<TInput>) => Promise<MessageInitShape<TOutput>>
    : TKind extends 'client_streaming'
      ? (messages: AsyncIterable<MessageShape<TInput>>) => Promise<MessageInitShape<TOutput>>
      : TKind extends 'server_streaming'
        ? (request: MessageShape<TInput>, signal: AbortSignal) => AsyncIterable<MessageInitShape<TOutput>>
        : (messages: AsyncIterable<MessageShape<TInput>>) => AsyncIterable<MessageInitShape<TOutput>>
  : never;

/** The server's side of a service. */
export type ServiceHandlers<TMethods extends GenServiceMethods> = {
  readonly [TName in keyof TMethods]: Handler<TMethods[TName]>;
};

/** The parts of a call that are available before its messages. */
export type ReceivedCall = Pick<ServerUnaryCall<unknown, unknown>, 'metadata' | 'getHost'>;

/** Hooks around every handler. */
export interface HandlerEnvironment {
  /** Throws when the caller is not authorised. */
  readonly authorize: (call: ReceivedCall) => void;
  /** Converts a thrown value to a gRPC error. */
  readonly toServiceError: (error: unknown) => ServerErrorResponse;
}

/** A service in the form of grpc-js's `server.addService`. */
export interface ServiceBinding {
  readonly definition: ServiceDefinition;
  readonly implementation: UntypedServiceImplementation;
}

/**
 * Binds typed handlers to a generated service. Uploads and downloads are async iterables; downloads apply backpressure.
 */
export function bindService<TMethods extends GenServiceMethods>(
  service: GenService<TMethods>,
  handlers: ServiceHandlers<TMethods>,
  environment: HandlerEnvironment,
): ServiceBinding {
  const implementation: UntypedServiceImplementation = {};
  const definition: Record<string, ServiceDefinition[string]> = {};
  for (const [name, method] of Object.entries<DescMethod>(service.method)) {
    definition[name] = toMethodDefinition(method);
    const handler: unknown = handlers[name];
    implementation[name] = bindMethod(method, handler, environment);
  }
  return { definition, implementation };
}

type Message = MessageShape<DescMessage>;
type MessageInit = MessageInitShape<DescMessage>;

/** `handler` has the type that {@link Handler} defines for the method's kind, checked at its definition. */
function bindMethod(
  method: DescMethod,
  handler: unknown,
  environment: HandlerEnvironment,
): UntypedServiceImplementation[string] {
  switch (method.methodKind) {
    case 'unary':
      return bindUnary(method, handler as (request: Message) => Promise<MessageInit>, environment);
    case 'client_streaming':
      return bindUpload(method, handler as (messages: AsyncIterable<Message>) => Promise<MessageInit>, environment);
    case 'bidi_streaming':
      return bindDialogue(
        method,
        handler as (messages: AsyncIterable<Message>) => AsyncIterable<MessageInit>,
        environment,
      );
    case 'server_streaming':
      return bindDownload(
        method,
        handler as (request: Message, signal: AbortSignal) => AsyncIterable<MessageInit>,
        environment,
      );
  }
}

function bindUnary(
  method: DescMethod,
  handler: (request: Message) => Promise<MessageInit>,
  environment: HandlerEnvironment,
): handleUnaryCall<Message, Message> {
  return async (call, callback) => {
    try {
      environment.authorize(call);
      callback(null, create(method.output, await handler(call.request)));
    } catch (error) {
      callback(environment.toServiceError(error));
    }
  };
}

function bindUpload(
  method: DescMethod,
  handler: (messages: AsyncIterable<Message>) => Promise<MessageInit>,
  environment: HandlerEnvironment,
): handleClientStreamingCall<Message, Message> {
  return async (call, callback) => {
    // A lost connection reaches the handler through its iterator; without a listener it would end the process.
    call.on('error', () => {});
    try {
      environment.authorize(call);
      // A response before the end of the upload must not destroy the call it is sent on.
      const messages: AsyncIterable<Message> = call.iterator({ destroyOnReturn: false });
      callback(null, create(method.output, await handler(messages)));
    } catch (error) {
      callback(environment.toServiceError(error));
    }
  };
}

function bindDownload(
  method: DescMethod,
  handler: (request: Message, signal: AbortSignal) => AsyncIterable<MessageInit>,
  environment: HandlerEnvironment,
): handleServerStreamingCall<Message, Message> {
  return (call) => {
    const messages = (signal: AbortSignal): AsyncIterable<MessageInit> => {
      call.sendMetadata(new Metadata());
      return handler(call.request, signal);
    };
    return sendAll(call, { method, messages, environment });
  };
}

function bindDialogue(
  method: DescMethod,
  handler: (messages: AsyncIterable<Message>) => AsyncIterable<MessageInit>,
  environment: HandlerEnvironment,
): handleBidiStreamingCall<Message, Message> {
  return (call) => {
    const messages = (): AsyncIterable<MessageInit> => handler(call.iterator({ destroyOnReturn: false }));
    return sendAll(call, { method, messages, environment });
  };
}

interface Sending {
  readonly method: DescMethod;
  /** Starts a response stream; the signal aborts when the client disconnects. */
  readonly messages: (signal: AbortSignal) => AsyncIterable<MessageInit>;
  readonly environment: HandlerEnvironment;
}

/** Sends messages with backpressure until the end or a disconnect. */
async function sendAll(
  call: ServerWritableStream<Message, Message> | ServerDuplexStream<Message, Message>,
  { method, messages, environment }: Sending,
): Promise<void> {
  const gone = new AbortController();
  for (const event of ['cancelled', 'error', 'close'] as const) call.on(event, () => gone.abort());
  try {
    environment.authorize(call);
    for await (const message of messages(gone.signal)) {
      if (gone.signal.aborted) return;
      if (!call.write(create(method.output, message))) await drained(call, gone.signal);
    }
    call.end();
  } catch (error) {
    if (!gone.signal.aborted) call.emit('error', environment.toServiceError(error));
  }
}

/** Resolves when the stream accepts more, or the client has disconnected. */
async function drained(stream: EventEmitter, signal: AbortSignal): Promise<void> {
  try {
    await once(stream, 'drain', { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
