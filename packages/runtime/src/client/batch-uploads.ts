import type { SubmitBatchResponse } from '../gen/agentlightning/runtime/v1/training_pb.ts';
import { type BatchUpload, type UploadWay, uploadBatch } from './upload-batch.ts';
import type { UploadThread } from './upload-thread.ts';

/** What {@link BatchUploads} are made of. */
export interface BatchUploadsOptions {
  /** The way from this thread. */
  readonly here: UploadWay;
  readonly thread: UploadThread;
  /** From how many bytes on a batch is sent by the other thread. */
  readonly threadFromBytes: number;
}

/** Uploads of one connection: large ones by a thread of their own, small ones and what that thread cannot do from here. */
export class BatchUploads {
  readonly #options: BatchUploadsOptions;

  constructor(options: BatchUploadsOptions) {
    this.#options = options;
  }

  /**
   * Uploads a batch once. Its payload lies in shared memory and stays as it is until this has settled.
   * @throws ServiceError of grpc-js, whichever thread sends
   */
  async upload(upload: BatchUpload): Promise<SubmitBatchResponse> {
    const { here, thread, threadFromBytes } = this.#options;
    const response = upload.payload.byteLength < threadFromBytes ? null : await thread.upload(upload);
    // Uploads may be repeated, so nobody needs to know how far the other thread had come.
    return response ?? uploadBatch(here, upload);
  }

  /** Ends the other thread, and what it is sending. */
  close(): Promise<void> {
    return this.#options.thread.close();
  }
}
