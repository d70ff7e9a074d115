export { OtlpReceiver, type PlannedResponse, type ReceivedRequest } from './otlp-receiver.ts';
