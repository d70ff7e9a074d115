/**
 * Products and rows of matrices.
 *
 * @module
 */
import { addVectors } from './vectors';

/** `out = x · w`: rows × inner by inner × columns. Each element is summed in the same order for any number of rows. */
export function multiply(out: usize, x: usize, w: usize, rows: i32, inner: i32, columns: i32): void {
  memory.fill(out, 0, (<usize>rows * columns) << 2);
  multiplyAdd(out, x, w, rows, inner, columns);
}

/** As {@link multiply}; adds. */
export function multiplyAdd(out: usize, x: usize, w: usize, rows: i32, inner: i32, columns: i32): void {
  let row = 0;
  for (; row + 4 <= rows; row += 4) {
    let column = 0;
    for (; column + 8 <= columns; column += 8) block4x8(out, x, w, row, inner, columns, column);
    if (column < columns) for (let r = row; r < row + 4; r++) block1x4(out, x, w, r, inner, columns, column);
  }
  for (; row < rows; row++) {
    let column = 0;
    for (; column + 16 <= columns; column += 16) block1x16(out, x, w, row, inner, columns, column);
    for (; column < columns; column += 4) block1x4(out, x, w, row, inner, columns, column);
  }
}

/** Four rows and eight columns of a product. */
@inline
function block4x8(out: usize, x: usize, w: usize, row: i32, inner: i32, columns: i32, column: i32): void {
  const stride = <usize>columns << 2;
  const length = <usize>inner << 2;
  let x0 = x + <usize>row * length;
  const o0 = out + <usize>row * stride + (<usize>column << 2);
  let a0 = v128.load(o0);
  let b0 = v128.load(o0, 16);
  const o1 = o0 + stride;
  let a1 = v128.load(o1);
  let b1 = v128.load(o1, 16);
  const o2 = o1 + stride;
  let a2 = v128.load(o2);
  let b2 = v128.load(o2, 16);
  const o3 = o2 + stride;
  let a3 = v128.load(o3);
  let b3 = v128.load(o3, 16);
  let from = w + (<usize>column << 2);
  const end = x0 + length;
  for (; x0 < end; x0 += 4) {
    const left = v128.load(from);
    const right = v128.load(from, 16);
    from += stride;
    const s0 = v128.load32_splat(x0);
    a0 = f32x4.add(a0, f32x4.mul(s0, left));
    b0 = f32x4.add(b0, f32x4.mul(s0, right));
    const s1 = v128.load32_splat(x0 + length);
    a1 = f32x4.add(a1, f32x4.mul(s1, left));
    b1 = f32x4.add(b1, f32x4.mul(s1, right));
    const s2 = v128.load32_splat(x0 + 2 * length);
    a2 = f32x4.add(a2, f32x4.mul(s2, left));
    b2 = f32x4.add(b2, f32x4.mul(s2, right));
    const s3 = v128.load32_splat(x0 + 3 * length);
    a3 = f32x4.add(a3, f32x4.mul(s3, left));
    b3 = f32x4.add(b3, f32x4.mul(s3, right));
  }
  v128.store(o0, a0);
  v128.store(o0, b0, 16);
  v128.store(o1, a1);
  v128.store(o1, b1, 16);
  v128.store(o2, a2);
  v128.store(o2, b2, 16);
  v128.store(o3, a3);
  v128.store(o3, b3, 16);
}

/** One row and sixteen columns of a product. */
@inline
function block1x16(out: usize, x: usize, w: usize, row: i32, inner: i32, columns: i32, column: i32): void {
  const stride = <usize>columns << 2;
  let from = w + (<usize>column << 2);
  const to = out + <usize>row * stride + (<usize>column << 2);
  let at = x + <usize>row * (<usize>inner << 2);
  const end = at + (<usize>inner << 2);
  let s0 = v128.load(to);
  let s1 = v128.load(to, 16);
  let s2 = v128.load(to, 32);
  let s3 = v128.load(to, 48);
  for (; at < end; at += 4) {
    const value = v128.load32_splat(at);
    s0 = f32x4.add(s0, f32x4.mul(value, v128.load(from)));
    s1 = f32x4.add(s1, f32x4.mul(value, v128.load(from, 16)));
    s2 = f32x4.add(s2, f32x4.mul(value, v128.load(from, 32)));
    s3 = f32x4.add(s3, f32x4.mul(value, v128.load(from, 48)));
    from += stride;
  }
  v128.store(to, s0);
  v128.store(to, s1, 16);
  v128.store(to, s2, 32);
  v128.store(to, s3, 48);
}

/** One row and four columns of a product. */
@inline
function block1x4(out: usize, x: usize, w: usize, row: i32, inner: i32, columns: i32, column: i32): void {
  const stride = <usize>columns << 2;
  let from = w + (<usize>column << 2);
  const to = out + <usize>row * stride + (<usize>column << 2);
  let at = x + <usize>row * (<usize>inner << 2);
  const end = at + (<usize>inner << 2);
  let sum = v128.load(to);
  for (; at < end; at += 4) {
    sum = f32x4.add(sum, f32x4.mul(v128.load32_splat(at), v128.load(from)));
    from += stride;
  }
  v128.store(to, sum);
}

/** `out += aᵀ · b`: the gradient of weights, outputs × inputs, from rows × outputs and rows × inputs. */
export function multiplyTransposedAdd(out: usize, a: usize, b: usize, rows: i32, outputs: i32, inputs: i32): void {
  const aStride = <usize>outputs << 2;
  const bStride = <usize>inputs << 2;
  for (let output = 0; output < outputs; output += 4) {
    for (let input = 0; input < inputs; input += 4) {
      const to = out + <usize>output * bStride + (<usize>input << 2);
      let s0 = v128.load(to);
      let s1 = v128.load(to + bStride);
      let s2 = v128.load(to + 2 * bStride);
      let s3 = v128.load(to + 3 * bStride);
      let left = a + (<usize>output << 2);
      let right = b + (<usize>input << 2);
      for (let row = 0; row < rows; row++) {
        const value = v128.load(right);
        s0 = f32x4.add(s0, f32x4.mul(v128.load32_splat(left), value));
        s1 = f32x4.add(s1, f32x4.mul(v128.load32_splat(left, 4), value));
        s2 = f32x4.add(s2, f32x4.mul(v128.load32_splat(left, 8), value));
        s3 = f32x4.add(s3, f32x4.mul(v128.load32_splat(left, 12), value));
        left += aStride;
        right += bStride;
      }
      v128.store(to, s0);
      v128.store(to + bStride, s1);
      v128.store(to + 2 * bStride, s2);
      v128.store(to + 3 * bStride, s3);
    }
  }
}

/** `out = xᵀ`: columns × rows. */
export function transpose(out: usize, x: usize, rows: i32, columns: i32): void {
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      store<f32>(out + ((<usize>column * rows + row) << 2), load<f32>(x + ((<usize>row * columns + column) << 2)));
    }
  }
}

/** `out[i] = x[indices[i]]`, by rows. */
export function gather(out: usize, x: usize, indices: usize, count: i32, width: i32): void {
  const bytes = <usize>width << 2;
  for (let i = 0; i < count; i++) {
    memory.copy(out + <usize>i * bytes, x + <usize>load<i32>(indices + (<usize>i << 2)) * bytes, bytes);
  }
}

/** `out[indices[i]] += x[i]`, by rows. */
export function scatterAdd(out: usize, x: usize, indices: usize, count: i32, width: i32): void {
  const bytes = <usize>width << 2;
  for (let i = 0; i < count; i++) {
    addVectors(out + <usize>load<i32>(indices + (<usize>i << 2)) * bytes, x + <usize>i * bytes, bytes);
  }
}
