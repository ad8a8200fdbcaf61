"""Between the files of a case and a fit: records and given models going in, tables like those of files coming out."""
