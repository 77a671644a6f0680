// What a study knows, by the heads of the model that is served: the two may count them differently.

const BY_HEAD = ["values", "low", "high", "p", "q", "also"];

// The model with the numbers, roles and removals of its study; without one, with none.
export function shownStudy(model, study) {
  const place = new Map(study?.heads.map((head, index) => [head[3], index]));
  const of = model.heads.map((head) => place.get(head[3]) ?? null);
  const here = new Map(of.map((theirs, ours) => [theirs, ours]));
  const moved = (values) => of.map((index) => (index === null ? null : (values[index] ?? null)));
  const colourings = (study?.colourings ?? [])
    .filter((colouring) => colouring.id !== "present")
    .map((colouring) => ({
      ...colouring,
      ...Object.fromEntries(
        BY_HEAD.filter((name) => Array.isArray(colouring[name])).map((name) => [name, moved(colouring[name])]),
      ),
    }));
  return {
    model: model.model,
    stacks: model.stacks,
    heads: model.heads,
    colourings,
    curves: study?.curves ?? [],
    removals: (study?.removals ?? []).map((told) => ({
      ...told,
      orders: told.orders.map((heads) => heads.flatMap((head) => here.get(head) ?? [])),
    })),
  };
}
