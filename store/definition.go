package store

// definition is the journal's description of a sink.
type definition struct {
	ID uint32 `json:"id"`
	definitionBody
}

type definitionBody struct {
	Name        string `json:"name"`
	Format      format `json:"format"`
	Rows        int64  `json:"rows,omitempty"`
	ChunkRows   int    `json:"chunk_rows"`
	Deflate     int    `json:"deflate"`
	Units       string `json:"units,omitempty"`
	Description string `json:"description,omitempty"`
}

// check makes a definition that was read from disk safe to use.
func (d *definitionBody) check() error {
	if err := checkName(d.Name); err != nil {
		return err
	}
	if err := d.Format.valid(); err != nil {
		return err
	}
	if d.Rows < 0 || d.Rows > maxIndex || d.ChunkRows < 1 || d.ChunkRows > maxChunkRows || d.Deflate < 0 || d.Deflate > 9 {
		return unsupported("%s has %d rows in chunks of %d, deflate %d", d.Name, d.Rows, d.ChunkRows, d.Deflate)
	}
	if int64(d.ChunkRows)*int64(max(d.Format.size(), 16)) > maxChunk && d.ChunkRows > 1 {
		return unsupported("%s has chunks of %d rows of %d bytes", d.Name, d.ChunkRows, d.Format.size())
	}
	return nil
}

// fits checks a row that was read from disk.
func (d *definitionBody) fits(index int64, row []byte) error {
	if index < 0 || index >= maxIndex || d.Rows > 0 && index >= d.Rows {
		return unsupported("index %d of %s, which has %d rows", index, d.Name, d.Rows)
	}
	switch d.Format.Elem.Kind {
	case kString:
		return nil
	case kVlen:
		if len(row)%d.Format.Elem.Elem.size() != 0 {
			return unsupported("a row of %s of %d bytes for elements of %d", d.Name, len(row), d.Format.Elem.Elem.size())
		}
		return nil
	}
	if len(row) != d.Format.size() {
		return unsupported("a row of %s of %d bytes, not %d", d.Name, len(row), d.Format.size())
	}
	return nil
}

// ensureDatasets creates a sink's datasets where they are missing and checks
// their type where they are there.
func (q *session) ensureDatasets(file hid, s *sinkState) {
	d := &s.def
	q.name = d.Name
	defer func() { q.name = "" }()
	if q.exists(file, d.Name) {
		q.checkFormat(q.openDataset(file, d.Name), d)
	} else {
		q.createRows(file, d)
	}
	if !q.exists(file, doneName(d.Name)) {
		e := layout{Kind: kBool}
		q.createDataset(file, doneName(d.Name), &storage{dims: []int{int(d.Rows)}, growing: true, chunk: []int{doneChunk},
			deflate: d.Deflate, elem: &e})
		q.writeAttr(file, doneName(d.Name), "description", "which rows of "+d.Name+" are there")
	}
}

func (q *session) createRows(file hid, d *definitionBody) {
	st := storage{dims: append([]int{int(d.Rows)}, d.Format.Shape...), growing: true,
		chunk: append([]int{d.ChunkRows}, d.Format.Shape...), deflate: d.Deflate, elem: &d.Format.Elem}
	if !d.Format.Elem.variable() && d.Format.Elem.size() <= maxFill {
		st.fill = fillValue(&d.Format.Elem)
	}
	q.createDataset(file, d.Name, &st)
	if d.Units != "" {
		q.writeAttr(file, d.Name, "units", d.Units)
	}
	if d.Description != "" {
		q.writeAttr(file, d.Name, "description", d.Description)
	}
}

func (q *session) checkFormat(d hid, def *definitionBody) {
	dims := q.datasetShape(d)
	have := format{Elem: q.datasetLayout(d)}
	if q.err != nil {
		return
	}
	if len(dims) > 1 {
		have.Shape = dims[1:]
	}
	if h, w := have.String(), def.Format.String(); h != w || len(dims) == 0 {
		q.fail(&LayoutError{Path: q.path, Name: def.Name, Have: h, Want: w})
	}
}
