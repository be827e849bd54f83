// A client in JavaScript: node client.mjs http://127.0.0.1:8080
//
// An id has up to 63 bits, and a JavaScript number holds 53. The service sends ids as strings: keep
// them as strings. Use BigInt for arithmetic on an id's bits.

const base = process.argv[2];

/** @returns the JSON of the answer. A 503 is tried again, up to five times. */
async function call(path, options) {
  for (let attempt = 0; ; attempt++) {
    const res = await fetch(base + path, options);
    if (res.ok) return res.json();
    if (res.status !== 503 || attempt === 5) throw new Error(`${path}: ${res.status}`);
    await new Promise((done) => setTimeout(done, 100 * 2 ** attempt));
  }
}

const user = "9007199254740995"; // a number cannot hold it: Number(user) is another id
const placed = await call(`/users/${user}/orders`, {
  method: "POST",
  body: JSON.stringify([{ item: "tea", cents: 450 }, { item: "cup", cents: 900 }]),
});
for (const order of placed) {
  if (typeof order.id !== "string") throw new Error("the id is no string");
  const found = await call(`/orders/${order.id}`);
  if (found.id !== order.id || found.user !== user) throw new Error(`${order.id} is ${found.id} of ${found.user}`);
  if (BigInt(order.id) % 4n !== BigInt(user) % 4n) throw new Error(`${order.id} is not in its user's table`);
}
const all = await call(`/users/${user}/orders`);
console.log(`${placed.length} placed, ${all.length} found`);
