// The data of the page: what is shown first as it stands there, further numbers unpacked into their places.
import { bytesOf, inflateAll } from "./unpack.js";

export async function readData() {
  const data = JSON.parse(document.getElementById("data").textContent);
  await Promise.all(data.studies.filter((study) => study.packed).map(complete));
  return data;
}

async function complete(study) {
  const bytes = await inflateAll(bytesOf(document.getElementById(study.packed).textContent));
  const packed = new Map(JSON.parse(new TextDecoder().decode(bytes)).map((colouring) => [colouring.id, colouring]));
  study.colourings = study.colourings.map((colouring) => (colouring.values ? colouring : packed.get(colouring.id)));
}
